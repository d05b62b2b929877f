"""Makes one image with a library for Python: python3 python.py LIBRARY OPERATION

DARKROOM_URL and DARKROOM_API_KEY name the service. PROMPT is the prompt, SOURCE the PNG that an edit changes. It
prints the image as one line of Base64. clients.ts runs this file with the libraries that it installs.
"""

import asyncio
import base64
import os
import sys
import uuid

library, operation = sys.argv[1:]
url, key, source = (os.environ[name] for name in ("DARKROOM_URL", "DARKROOM_API_KEY", "SOURCE"))
MODEL = "familyb-image-2-vip"
FIELDS = {"prompt": os.environ["PROMPT"], "size": "1024x1024"}
is_edit = "edit" in operation
# The library reads a stream that has begun before its image is there.
is_stream = operation.startswith("stream")


def with_openai():
    import openai

    images = openai.OpenAI(api_key=key, base_url=url + "/v1").images
    fields = {"model": MODEL, **FIELDS, **({"stream": True} if is_stream else {})}
    if is_edit:
        with open(source, "rb") as file:
            answer = images.edit(image=file, **fields)
    else:
        answer = images.generate(**fields)
    return list(answer)[-1].b64_json if is_stream else answer.data[0].b64_json


def with_litellm():
    import litellm

    service = dict(model="openai/familyb-image-2-vip", api_base=url + "/v1", api_key=key)
    if not is_edit:
        return litellm.image_generation(**service, **FIELDS).data[0].b64_json
    with open(source, "rb") as file:
        return litellm.image_edit(image=file, **service, **FIELDS).data[0].b64_json


def with_google_genai():
    from google.genai import Client, types
    from google.genai.types import HttpOptions

    client = Client(
        api_key=key,
        http_options=HttpOptions(base_url=url, headers={"Authorization": "Bearer " + key}),
    )
    with open(source, "rb") as file:
        part = types.Part.from_bytes(data=file.read(), mime_type="image/png")
    request = dict(
        model="familya-3-pro-image",
        contents=[FIELDS["prompt"], part] if is_edit else FIELDS["prompt"],
        config=types.GenerateContentConfig(
            response_modalities=["IMAGE"],
            image_config=types.ImageConfig(aspect_ratio="16:9", image_size="1K"),
        ),
    )
    if is_stream:
        answer = list(client.models.generate_content_stream(**request))[-1]
    else:
        answer = client.models.generate_content(**request)
    image = next(part.inline_data.data for part in answer.parts if part.inline_data)
    return base64.b64encode(image).decode()


async def with_open_webui():
    """The requests of Open WebUI's image router with the engine `openai`."""
    import aiohttp

    fields = {"model": MODEL, **FIELDS, "response_format": "b64_json"}
    if is_edit:
        body = aiohttp.FormData()
        for name, value in fields.items():
            body.add_field(name, value)
        with open(source, "rb") as file:
            content = file.read()
        body.add_field("image", content, filename=f"{uuid.uuid4()}.png", content_type="image/png")
        sent = {"url": f"{url}/v1/images/edits", "data": body}
    else:
        sent = {"url": f"{url}/v1/images/generations", "json": {**fields, "n": 1}}
    async with aiohttp.ClientSession() as session:
        async with session.post(**sent, headers={"Authorization": f"Bearer {key}"}) as answer:
            if not answer.ok:
                raise SystemExit(f"{answer.status} {await answer.text()}")
            return (await answer.json())["data"][0]["b64_json"]


libraries = {
    "openai": with_openai,
    "litellm": with_litellm,
    "google-genai": with_google_genai,
    "open-webui": lambda: asyncio.run(with_open_webui()),
}
print(libraries[library]())
