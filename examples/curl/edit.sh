#!/bin/sh
# Edits an image with a task. IMAGE is a PNG file of at most 20 MiB; for JPEG and WebP change `mime_type`. A task takes
# up to 16.
set -eu
base=${DARKROOM_URL:-http://127.0.0.1:8080}
auth="Authorization: Bearer ${DARKROOM_API_KEY:?set DARKROOM_API_KEY}"
image=${IMAGE:?set IMAGE to a PNG file}

# The image goes through a file, because a command line is too short for it.
base64 <"$image" | tr -d '\n' >image.base64
jq -n --rawfile data image.base64 '{
  model: "familyb-image-2-vip", action: "edit", prompt: "Make the sky red",
  input_images: [{mime_type: "image/png", data: $data}]
}' >body.json

task=$(curl -sS --fail-with-body --retry 5 --retry-all-errors "$base/v1/images/tasks" -H "$auth" \
  -H 'Content-Type: application/json' -H "Idempotency-Key: edit-$(date +%s)-$$" -d @body.json | jq -r .task_id)

for _ in $(seq 600); do
  record=$(curl -sS --fail-with-body --retry 5 "$base/v1/tasks/$task" -H "$auth")
  case $(echo "$record" | jq -r .status) in
    succeeded | completed) curl -sS --fail-with-body -o edited.png "$(echo "$record" | jq -r '.output.assets[0].url')"
      echo "$task succeeded: edited.png"; exit 0 ;;
    failed | expired) echo "$record" >&2; exit 1 ;;
  esac
  sleep 3
done
echo "$task has not ended" >&2
exit 1
