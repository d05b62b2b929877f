#!/bin/sh
# Generates an image and edits it, each in one call that waits for the image. Family B.
set -eu
base=${DARKROOM_URL:-http://127.0.0.1:8080}
auth="Authorization: Bearer ${DARKROOM_API_KEY:?set DARKROOM_API_KEY}"

# A call may take minutes, so its timeout is long. Send it again with the same key when the connection breaks.
curl -sS --fail-with-body --max-time 300 "$base/v1/images/generations" -H "$auth" \
  -H 'Content-Type: application/json' -H "Idempotency-Key: sync-$(date +%s)-$$" \
  -d '{"model":"familyb-image-2-vip","prompt":"A lighthouse at dusk","size":"1024x1024"}' \
  | jq -r '.data[0].b64_json' | base64 -d >image.png

curl -sS --fail-with-body --max-time 300 "$base/v1/images/edits" -H "$auth" \
  -H "Idempotency-Key: sync-edit-$(date +%s)-$$" \
  -F model=familyb-image-2-vip -F 'prompt=Make the sky red' -F image=@image.png \
  | jq -r '.data[0].b64_json' | base64 -d >edited.png
echo "image.png, edited.png"
