from __future__ import annotations

import base64
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Literal

from .errors import wrong_value
from ..api_types import InputImage

SourceImage = bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO
"""A source image: its bytes, an open file, or the path of one."""

_IMAGES_MAX = 16
_IMAGE_BYTES_MAX = 20 * 1_048_576
_ALL_BYTES_MAX = 64 * 1_048_576


def read_sources(sources: Sequence[SourceImage]) -> list[InputImage]:
    """Reads source images into the form of a request. Raises for what the API would refuse, without sending it."""
    if not 1 <= len(sources) <= _IMAGES_MAX:
        raise wrong_value("images", f"takes 1 to {_IMAGES_MAX} images")
    images: list[InputImage] = []
    all_bytes = 0
    for index, source in enumerate(sources):
        param = f"images[{index}]"
        content = _bytes_of(source, param)
        all_bytes += len(content)
        if all_bytes > _ALL_BYTES_MAX:
            raise wrong_value("images", "takes 64 MiB together")
        data = base64.b64encode(content).decode()
        images.append({"mime_type": _type_of(content, param), "data": data})
    return images


def _bytes_of(source: SourceImage, param: str) -> bytes:
    if isinstance(source, (str, os.PathLike)):
        # A pipe may never end, and a device has no end.
        if not stat.S_ISREG(Path(source).stat().st_mode):
            raise wrong_value(param, "is no file")
        with Path(source).open("rb") as file:
            return _bytes_of(file, param)
    content = bytearray()
    if isinstance(source, (bytes, bytearray, memoryview)):
        content += source
    else:
        # A pipe gives less than it is asked for.
        while len(content) <= _IMAGE_BYTES_MAX and (piece := source.read(_IMAGE_BYTES_MAX + 1)):
            content += piece
    if len(content) > _IMAGE_BYTES_MAX:
        raise wrong_value(param, "has more than 20 MiB")
    return bytes(content)


def _type_of(content: bytes, param: str) -> Literal["image/png", "image/jpeg", "image/webp"]:
    if content.startswith(b"\x89PNG\r\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    raise wrong_value(param, "is no PNG, JPEG or WebP image")


