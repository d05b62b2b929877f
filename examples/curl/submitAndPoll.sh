#!/bin/sh
# Submits a task, polls it with a deadline, and downloads the image.
# Needs curl and jq. DARKROOM_API_KEY is your API key.
set -eu
base=${DARKROOM_URL:-http://127.0.0.1:8080}
auth="Authorization: Bearer ${DARKROOM_API_KEY:?set DARKROOM_API_KEY}"

# --retry repeats after network errors, 408, 429 and 5xx, and obeys Retry-After. The Idempotency-Key makes that
# safe: every try is the same task.
task=$(curl -sS --fail-with-body --retry 5 --retry-all-errors --retry-max-time 60 --max-time 30 \
  "$base/v1/images/tasks" -H "$auth" -H 'Content-Type: application/json' \
  -H "Idempotency-Key: example-$(date +%s)-$$" \
  -d '{"model":"familyb-image-2-vip","action":"generate","prompt":"A lighthouse at dusk"}' | jq -r .task_id)

deadline=$(($(date +%s) + 1800))
while :; do
  record=$(curl -sS --fail-with-body --retry 5 --retry-max-time 60 --max-time 30 "$base/v1/tasks/$task" -H "$auth")
  case $(echo "$record" | jq -r .status) in
    succeeded | completed) break ;;
    failed | expired) echo "$record" >&2; exit 1 ;;
  esac
  [ "$(date +%s)" -lt "$deadline" ] || { echo "$task has not ended" >&2; exit 1; }
  sleep 3
done

curl -sS --fail-with-body --retry 5 -o image.png "$(echo "$record" | jq -r '.output.assets[0].url')"
echo "$task succeeded: image.png"
