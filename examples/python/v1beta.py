"""Generates an image with generateContent. Family A."""

import base64
import os
import uuid

import requests

base = os.environ.get("DARKROOM_URL", "http://127.0.0.1:8080")
answer = requests.post(
    f"{base}/v1beta/models/familya-3-pro-image:generateContent",
    headers={
        "Authorization": f"Bearer {os.environ['DARKROOM_API_KEY']}",
        "Idempotency-Key": str(uuid.uuid4()),
    },
    json={
        "contents": [{"parts": [{"text": "A lighthouse at dusk"}]}],
        "generationConfig": {"imageConfig": {"aspectRatio": "16:9", "imageSize": "1K"}},
    },
    timeout=300,
)
answer.raise_for_status()
document = answer.json()
parts = [
    part
    for candidate in document.get("candidates", [])
    for part in candidate.get("content", {}).get("parts", [])
    if "inlineData" in part
]
# A refusal of the model is a 200 without an image: finishReason or blockReason says why.
if not parts:
    raise SystemExit(document)
with open("image.png", "wb") as file:
    file.write(base64.b64decode(parts[0]["inlineData"]["data"]))
print("image.png")
