"""Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import time
from collections.abc import Mapping
from typing import Any, TypedDict, cast

from .errors import DarkroomError


class WebhookEvent(TypedDict):
    """What a webhook is told. `data` is the record of the task, or what the event of another `type` is about."""

    type: str
    timestamp: str
    data: dict[str, Any]


def unwrap(
    body: str | bytes,
    headers: Mapping[str, str],
    secret: str | None = None,
    *,
    tolerance_ms: int = 300_000,
) -> WebhookEvent:
    """Returns the event in a delivery, once its signature was checked.

    `body` is the body as it arrived. `secret` is DARKROOM_WEBHOOK_SECRET unless it is given. Raises `invalid_signature`.
    After a rotation one of two signatures must be right.
    """
    given = {name.lower(): value for name, value in headers.items()}
    timestamp = given.get("webhook-timestamp", "")
    signature = _signature(body, given.get("webhook-id", ""), timestamp, _key_of(secret))
    signatures = given.get("webhook-signature", "").split(" ")
    if not any(hmac.compare_digest(signature.encode(), each.encode()) for each in signatures):
        raise _invalid("The signature is wrong.")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) * 1000 > tolerance_ms:
        raise _invalid(f"The signature is not of now: it was made at {timestamp}. Is the clock right?")
    return cast(WebhookEvent, json.loads(body))


def sign(body: str | bytes, secret: str, *, id: str = "whd_test", at: float | None = None) -> dict[str, str]:
    """Returns the headers that a delivery of this body would have, for tests of a receiver. `at` are Unix seconds."""
    timestamp = str(int(time.time() if at is None else at))
    return {
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": _signature(body, id, timestamp, _key_of(secret)),
    }


def _signature(body: str | bytes, id: str, timestamp: str, key: bytes) -> str:
    content = f"{id}.{timestamp}.".encode() + (body.encode() if isinstance(body, str) else body)
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def _key_of(secret: str | None) -> bytes:
    text = os.environ.get("DARKROOM_WEBHOOK_SECRET", "") if secret is None else secret
    try:
        key = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if key == b"":
        raise _invalid("Give the secret, or set DARKROOM_WEBHOOK_SECRET.")
    return key


def _invalid(message: str) -> DarkroomError:
    return DarkroomError(message, code="invalid_signature")
