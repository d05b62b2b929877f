"""Waits for a task with `Prefer: wait`: each lookup is held until the task has ended, for 30 seconds at most."""

import os
import time
import uuid

import requests

base = os.environ.get("DARKROOM_URL", "http://127.0.0.1:8080")
session = requests.Session()
session.headers["Authorization"] = f"Bearer {os.environ['DARKROOM_API_KEY']}"

accepted = session.post(
    f"{base}/v1/images/tasks",
    headers={"Idempotency-Key": str(uuid.uuid4())},
    json={"model": "familyb-image-2-vip", "action": "generate", "prompt": "A lighthouse at dusk"},
    timeout=30,
)
accepted.raise_for_status()
task_id = accepted.json()["task_id"]

deadline = time.monotonic() + 30 * 60
while time.monotonic() < deadline:
    answer = session.get(f"{base}/v1/tasks/{task_id}", headers={"Prefer": "wait=30"}, timeout=60)
    answer.raise_for_status()
    record = answer.json()
    if record["status"] in ("failed", "expired"):
        raise SystemExit(f"{record['status']}: {record.get('error')}")
    if record["status"] in ("succeeded", "completed"):
        image = requests.get(record["output"]["assets"][0]["url"], timeout=60)
        image.raise_for_status()
        with open("image.png", "wb") as file:
            file.write(image.content)
        print(f"{task_id} succeeded: image.png")
        break
    # A service that stops answers early. A pause keeps this loop from asking again at once.
    time.sleep(1)
else:
    raise SystemExit(f"{task_id} has not ended")
