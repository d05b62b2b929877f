"""Generates an image and edits it, each in one call that waits for the image. Family B."""

import base64
import os
import uuid

import requests

base = os.environ.get("DARKROOM_URL", "http://127.0.0.1:8080")
authorization = {"Authorization": f"Bearer {os.environ['DARKROOM_API_KEY']}"}


def call(path, **body):
    # A call may take minutes. When the connection breaks, send the call again with the same key.
    headers = {**authorization, "Idempotency-Key": str(uuid.uuid4())}
    answer = requests.post(base + path, headers=headers, timeout=300, **body)
    if not answer.ok:
        raise SystemExit(f"{answer.status_code} {answer.text} {answer.headers.get('X-Task-Id')}")
    return base64.b64decode(answer.json()["data"][0]["b64_json"])


fields = {"model": "familyb-image-2-vip", "prompt": "A lighthouse at dusk"}
image = call("/v1/images/generations", json={**fields, "size": "1024x1024"})
edited = call(
    "/v1/images/edits",
    data={**fields, "prompt": "Make the sky red"},
    files={"image": ("image.png", image, "image/png")},
)
for name, content in (("image.png", image), ("edited.png", edited)):
    with open(name, "wb") as file:
        file.write(content)
print("image.png, edited.png")
