"""Sends one submit twice, as after a lost answer: both name the same task, and one is paid for."""

import os
import uuid

import requests

base = os.environ.get("DARKROOM_URL", "http://127.0.0.1:8080")
headers = {
    "Authorization": f"Bearer {os.environ['DARKROOM_API_KEY']}",
    # Make the key when you decide to buy the image, keep it with your order, and send it with every try.
    "Idempotency-Key": str(uuid.uuid4()),
}


def submit(prompt):
    body = {"model": "familyb-image-2-vip", "action": "generate", "prompt": prompt}
    return requests.post(f"{base}/v1/images/tasks", headers=headers, json=body, timeout=30)


first, second = submit("A lighthouse"), submit("A lighthouse")
first.raise_for_status()
assert second.headers["Idempotent-Replayed"] == "true"
assert second.json() == first.json()
print(f"{first.json()['task_id']} was submitted once")

# The same key with another request is a 409. A new request needs a new key.
print(f"another request with this key: {submit('A harbour').status_code}")
