"""Submits a task, polls it with a deadline, and downloads the image. DARKROOM_API_KEY is your API key."""

import os
import time
import uuid

import requests

base = os.environ.get("DARKROOM_URL", "http://127.0.0.1:8080")
session = requests.Session()
session.headers["Authorization"] = f"Bearer {os.environ['DARKROOM_API_KEY']}"


def send(method, path, **options):
    """Sends a request at most five times. Each try of a submit has the same key, so it is the same task."""
    for attempt in range(5):
        wait = 2**attempt
        try:
            answer = session.request(method, base + path, timeout=30, **options)
        except (requests.ConnectionError, requests.Timeout):
            if attempt == 4:
                raise
        else:
            may_retry = answer.status_code == 429 or answer.status_code >= 500
            if attempt == 4 or not may_retry or answer.headers.get("x-should-retry") == "false":
                if not answer.ok:
                    raise SystemExit(f"{answer.status_code} {answer.text}")
                return answer
            wait = int(answer.headers.get("Retry-After", wait))
        time.sleep(min(wait, 60))


task = send(
    "POST",
    "/v1/images/tasks",
    headers={"Idempotency-Key": str(uuid.uuid4())},
    json={"model": "familyb-image-2-vip", "action": "generate", "prompt": "A lighthouse at dusk"},
).json()

deadline = time.monotonic() + 30 * 60
while True:
    answer = send("GET", f"/v1/tasks/{task['task_id']}")
    record = answer.json()
    if record["status"] in ("succeeded", "completed", "failed", "expired"):
        break
    if time.monotonic() > deadline:
        raise SystemExit(f"{task['task_id']} has not ended")
    time.sleep(int(answer.headers.get("Retry-After", 3)))

if record["status"] not in ("succeeded", "completed"):
    raise SystemExit(f"{record['status']}: {record.get('error')}")
# The address is signed: it works without the API key.
image = requests.get(record["output"]["assets"][0]["url"], timeout=60)
image.raise_for_status()
with open("image.png", "wb") as file:
    file.write(image.content)
print(f"{task['task_id']} succeeded: image.png")
