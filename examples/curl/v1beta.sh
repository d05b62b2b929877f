#!/bin/sh
# Generates an image with generateContent. Family A.
set -eu
base=${DARKROOM_URL:-http://127.0.0.1:8080}
auth="Authorization: Bearer ${DARKROOM_API_KEY:?set DARKROOM_API_KEY}"

curl -sS --fail-with-body --max-time 300 "$base/v1beta/models/familya-3-pro-image:generateContent" \
  -H "$auth" -H 'Content-Type: application/json' -H "Idempotency-Key: v1beta-$(date +%s)-$$" -d '{
    "contents": [{"parts": [{"text": "A lighthouse at dusk"}]}],
    "generationConfig": {"imageConfig": {"aspectRatio": "16:9", "imageSize": "1K"}}
  }' >answer.json

# A refusal of the model is a 200 without an image: finishReason or blockReason says why.
jq -re '[.candidates[]?.content.parts[]?.inlineData.data // empty][0]' answer.json >image.base64 \
  || { cat answer.json >&2; exit 1; }
base64 -d <image.base64 >image.png
echo "image.png"
