#!/bin/sh
# Waits for a task with `Prefer: wait`: each lookup is held until the task has ended, for 30 seconds at most.
set -eu
base=${DARKROOM_URL:-http://127.0.0.1:8080}
auth="Authorization: Bearer ${DARKROOM_API_KEY:?set DARKROOM_API_KEY}"

task=$(curl -sS --fail-with-body --retry 5 --retry-all-errors "$base/v1/images/tasks" -H "$auth" \
  -H 'Content-Type: application/json' -H "Idempotency-Key: wait-$(date +%s)-$$" \
  -d '{"model":"familyb-image-2-vip","action":"generate","prompt":"A lighthouse at dusk"}' | jq -r .task_id)

# 60 waits of up to 30 seconds. A service that stops answers early, so a pause follows each wait.
for _ in $(seq 60); do
  record=$(curl -sS --fail-with-body --retry 5 --max-time 60 "$base/v1/tasks/$task" -H "$auth" -H 'Prefer: wait=30')
  case $(echo "$record" | jq -r .status) in
    succeeded | completed) curl -sS --fail-with-body -o image.png "$(echo "$record" | jq -r '.output.assets[0].url')"
      echo "$task succeeded: image.png"; exit 0 ;;
    failed | expired) echo "$record" >&2; exit 1 ;;
  esac
  sleep 1
done
echo "$task has not ended" >&2
exit 1
