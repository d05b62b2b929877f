#!/bin/sh
# Sends one submit twice, as after a lost answer: both name the same task, and one is paid for.
set -eu
base=${DARKROOM_URL:-http://127.0.0.1:8080}
auth="Authorization: Bearer ${DARKROOM_API_KEY:?set DARKROOM_API_KEY}"
key="order-$(date +%s)-$$"

submit() {
  curl -sS --fail-with-body -D headers.txt "$base/v1/images/tasks" -H "$auth" \
    -H 'Content-Type: application/json' -H "Idempotency-Key: $key" -d "$1"
}

body='{"model":"familyb-image-2-vip","action":"generate","prompt":"A lighthouse"}'
first=$(submit "$body" | jq -r .task_id)
second=$(submit "$body" | jq -r .task_id)
grep -qi '^idempotent-replayed: true' headers.txt
[ "$first" = "$second" ]
echo "$first was submitted once"

# The same key with another request is a 409. A new request needs a new key.
status=$(curl -sS -o /dev/null -w '%{http_code}' "$base/v1/images/tasks" -H "$auth" \
  -H 'Content-Type: application/json' -H "Idempotency-Key: $key" \
  -d '{"model":"familyb-image-2-vip","action":"generate","prompt":"A harbour"}')
echo "another request with this key: $status"
