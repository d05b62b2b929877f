"""Follows a task by server-sent events until it has ended, and resumes a stream that breaks."""

import json
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

record, last_id = {}, None
deadline = time.monotonic() + 30 * 60
while record.get("status") not in ("succeeded", "failed", "expired"):
    if time.monotonic() > deadline:
        raise SystemExit(f"{task_id} has not ended")
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    try:
        # The service sends a comment every 15 seconds, so a silent minute means a broken connection.
        stream = session.get(f"{base}/v1/tasks/{task_id}/events", headers=headers, stream=True, timeout=60)
        stream.raise_for_status()
        for line in stream.iter_lines(chunk_size=1, decode_unicode=True):
            if line.startswith("id: "):
                last_id = line[4:]
            if line.startswith("data: "):
                record = json.loads(line[6:])
                print(record["status"], record["progress"], "%")
    except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError):
        time.sleep(2)

if record["status"] != "succeeded":
    raise SystemExit(f"{record['status']}: {record.get('error')}")
image = requests.get(record["output"]["assets"][0]["url"], timeout=60)
image.raise_for_status()
with open("image.png", "wb") as file:
    file.write(image.content)
print(f"{task_id} succeeded: image.png")
