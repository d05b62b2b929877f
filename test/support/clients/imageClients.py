"""Calls the service as Python programs do: python3 imageClients.py LIBRARY URL KEY IMAGE.

LIBRARY is openai, requests or urllib (standard library). The last printed line is a JSON object.
"""

import base64
import hashlib
import json
import sys
import uuid

library, url, key, image = sys.argv[1:]
MODEL = "familyb-image-2-vip"
FIELDS = {"model": MODEL, "size": "1024x1024"}


def digest(b64):
    return hashlib.sha256(base64.b64decode(b64)).hexdigest()


def with_openai():
    import openai

    client = openai.OpenAI(api_key=key, base_url=url + "/v1")

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
    return {
        "images": [digest(one.data[0].b64_json) for one in (generated, edited, listed, nameless)],
        "tokens": generated.usage.total_tokens,
        "mismatch": failure(lambda: generate("another", named)),
        "work": failure(lambda: generate("python openai [sim:500]")),
    }


def with_requests():
    import requests

    headers = {"Authorization": "Bearer " + key}

    def body_of(answer):
        answer.raise_for_status()
        return answer.json()

    post = lambda path, **body: body_of(requests.post(url + path, headers=headers, **body))
    generated = post("/v1/images/generations", json={"prompt": "python requests", **FIELDS})
    with open(image, "rb") as file:
        fields = {"prompt": "python requests edit", **FIELDS}
        edited = post("/v1/images/edits", data=fields, files={"image": file})
    return {"images": [digest(one["data"][0]["b64_json"]) for one in (generated, edited)]}


def with_urllib():
    from urllib.request import Request, urlopen

    def post(path, kind, body):
        headers = {"Authorization": "Bearer " + key, "Content-Type": kind}
        with urlopen(Request(url + path, body, headers)) as answer:
            return json.load(answer)

    fields = {"prompt": "python urllib", **FIELDS}
    generated = post("/v1/images/generations", "application/json", json.dumps(fields).encode())
    mark = uuid.uuid4().hex
    head = 'Content-Disposition: form-data; name="%s"'
    parts = ["--%s\r\n%s\r\n\r\n%s\r\n" % (mark, head % item[0], item[1]) for item in fields.items()]
    file_head = "--%s\r\n%s; filename=\"a.png\"\r\n\r\n" % (mark, head % "image")
    with open(image, "rb") as file:
        body = ("".join(parts) + file_head).encode() + file.read() + ("\r\n--%s--\r\n" % mark).encode()
    edited = post("/v1/images/edits", "multipart/form-data; boundary=" + mark, body)
    return {"images": [digest(one["data"][0]["b64_json"]) for one in (generated, edited)]}


done = {"openai": with_openai, "requests": with_requests, "urllib": with_urllib}[library]()
print("\n" + json.dumps(done))
