#!/bin/sh
# Submits a task, polls it with a deadline, and downloads the image.
# Needs curl and jq. DARKROOM_API_KEY is your API key.
set -eu
base=${DARKROOM_URL:-http://127.0.0.1:8080}
auth="Authorization: Bearer ${DARKROOM_API_KEY:?set DARKROOM_API_KEY}"
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# Asks the service. --retry obeys Retry-After. The answer is a file, because a pipe would get that of each try.
ask() {
  curl -sS --fail-with-body --retry 5 --retry-max-time 60 --max-time 30 -H "$auth" -o "$answer" "$@" ||
    { cat "$answer" >&2; exit 1; }
}

# The Idempotency-Key makes it safe to repeat also what may have arrived: every try is the same task.
ask "$base/v1/images/tasks" --retry-all-errors -H 'Content-Type: application/json' \
  -H "Idempotency-Key: example-$(date +%s)-$$" \
  -d '{"model":"familyb-image-2-vip","action":"generate","prompt":"A lighthouse at dusk"}'
task=$(jq -r .task_id "$answer")

deadline=$(($(date +%s) + 1800))
while :; do
  ask "$base/v1/tasks/$task"
  case $(jq -r .status "$answer") in
    succeeded | completed) break ;;
    failed | expired) cat "$answer" >&2; exit 1 ;;
  esac
  [ "$(date +%s)" -lt "$deadline" ] || { echo "$task has not ended" >&2; exit 1; }
  sleep 3
done

# The address may redirect to a bucket.
curl -sSL --fail-with-body --retry 5 -o image.png "$(jq -r '.output.assets[0].url' "$answer")"
echo "$task succeeded: image.png"
