"""Edits images with a task: one to 16 files of at most 20 MiB each.

IMAGE names one PNG file; for JPEG and WebP change `mime_type`.
"""

import base64
import os
import time
import uuid

import requests

base = os.environ.get("DARKROOM_URL", "http://127.0.0.1:8080")
session = requests.Session()
session.headers["Authorization"] = f"Bearer {os.environ['DARKROOM_API_KEY']}"

with open(os.environ["IMAGE"], "rb") as file:
    data = base64.b64encode(file.read()).decode()
accepted = session.post(
    f"{base}/v1/images/tasks",
    headers={"Idempotency-Key": str(uuid.uuid4())},
    json={
        "model": "familyb-image-2-vip",
        "action": "edit",
        "prompt": "Make the sky red",
        "input_images": [{"mime_type": "image/png", "data": data}],
    },
    timeout=120,
)
accepted.raise_for_status()
task_id = accepted.json()["task_id"]

deadline = time.monotonic() + 30 * 60
while time.monotonic() < deadline:
    record = session.get(f"{base}/v1/tasks/{task_id}", timeout=30).json()
    if record["status"] in ("failed", "expired"):
        raise SystemExit(f"{record['status']}: {record.get('error')}")
    if record["status"] in ("succeeded", "completed"):
        image = requests.get(record["output"]["assets"][0]["url"], timeout=60)
        image.raise_for_status()
        with open("edited.png", "wb") as file:
            file.write(image.content)
        print(f"{task_id} succeeded: edited.png")
        break
    time.sleep(3)
else:
    raise SystemExit(f"{task_id} has not ended")
