"""Calls the service with OpenAI's library: python3 imageClients.py URL KEY IMAGE. The last printed line is a JSON object."""

import base64
import hashlib
import json
import sys

import openai

url, key, image = sys.argv[1:]
FIELDS = {"model": "familyb-image-2-vip", "size": "1024x1024"}
client = openai.OpenAI(api_key=key, base_url=url + "/v1")


def digest(answer):
    return hashlib.sha256(base64.b64decode(answer.data[0].b64_json)).hexdigest()


def failure(send):
    try:
        send()
    except openai.APIStatusError as error:
        retries = error.response.request.headers["x-stainless-retry-count"]
        return {"status": error.status_code, "retries": int(retries)}
    return None


def generate(prompt, headers=None):
    return client.images.generate(prompt=prompt, extra_headers=headers, **FIELDS)


def edit(source):
    return client.images.edit(prompt="python openai edit", image=source, **FIELDS)


named = {"Idempotency-Key": "python-openai"}
generated = generate("python openai", named)
with open(image, "rb") as file:
    edited = edit(file)
    file.seek(0)
    listed = edit([file])
with open(image, "rb") as file:
    nameless = edit(file.read())
done = {
    "images": [digest(answer) for answer in (generated, edited, listed, nameless)],
    "tokens": generated.usage.total_tokens,
    "mismatch": failure(lambda: generate("another", named)),
    "work": failure(lambda: generate("python openai [sim:500]")),
}
print("\n" + json.dumps(done))
