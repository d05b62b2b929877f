#!/bin/sh
# Follows a task by server-sent events until it has ended.
set -eu
base=${DARKROOM_URL:-http://127.0.0.1:8080}
auth="Authorization: Bearer ${DARKROOM_API_KEY:?set DARKROOM_API_KEY}"

task=$(curl -sS --fail-with-body --retry 5 --retry-all-errors "$base/v1/images/tasks" -H "$auth" \
  -H 'Content-Type: application/json' -H "Idempotency-Key: events-$(date +%s)-$$" \
  -d '{"model":"familyb-image-2-vip","action":"generate","prompt":"A lighthouse at dusk"}' | jq -r .task_id)

# -N shows each event at once. The stream ends after the record of the end.
curl -sSN --fail-with-body --max-time 1800 "$base/v1/tasks/$task/events" -H "$auth" | tee events.txt | sed -n 's/^data: //p' |
  jq --unbuffered -r '"\(.status) \(.progress) %"'

record=$(sed -n 's/^data: //p' events.txt | tail -n 1)
curl -sS --fail-with-body -o image.png "$(echo "$record" | jq -er '.output.assets[0].url')"
echo "$task succeeded: image.png"
