from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

import httpx

from .calls import Call, Limits, Try
from .errors import wrong_value

VERSION = "0.1.0"

_CONNECT_SECONDS_MAX = 10.0


@dataclass(frozen=True)
class Settings:
    """What a client was made with."""

    base_url: str
    api_key: str
    timeout_ms: float
    retries_max: int
    on_try: Callable[[Try], None] | None

    def limits(self, timeout_ms: float | None, retries_max: int | None = None) -> Limits:
        """Begins a call: its deadline holds for all requests that it makes."""
        timeout_ms = self.timeout_ms if timeout_ms is None else timeout_ms
        retries_max = self.retries_max if retries_max is None else retries_max
        return Limits(timeout_ms, retries_max, self.on_try, time.monotonic() + timeout_ms / 1000)

    def request(self, call: Call, silence_seconds: float) -> RequestArguments:
        """Returns what httpx sends for a call. The key goes to the service alone."""
        is_ours = call.path.startswith("/")
        headers = dict(call.headers)
        if is_ours:
            headers["authorization"] = f"Bearer {self.api_key}"
            headers["user-agent"] = f"darkroom-client-python/{VERSION} python/{platform.python_version()}"
            if call.body is not None:
                headers["content-type"] = "application/json"
        return {
            "method": call.method,
            "url": self.base_url + call.path if is_ours else call.path,
            "headers": headers,
            "content": call.body,
            "timeout": httpx.Timeout(silence_seconds, connect=min(_CONNECT_SECONDS_MAX, silence_seconds)),
            # A redirect would lose the body of a POST, or take it to a stranger. Images may redirect.
            "follow_redirects": not is_ours,
        }


class RequestArguments(TypedDict):
    method: str
    url: str
    headers: dict[str, str]
    content: bytes | None
    timeout: httpx.Timeout
    follow_redirects: bool


def read_settings(
    base_url: str | None,
    api_key: str | None,
    timeout_ms: float,
    retries_max: int,
    on_try: Callable[[Try], None] | None,
) -> Settings:
    """Takes the environment's DARKROOM_URL and DARKROOM_API_KEY for what is absent."""
    url = (base_url or os.environ.get("DARKROOM_URL", "")).rstrip("/")
    key = (api_key or os.environ.get("DARKROOM_API_KEY", "")).strip()
    if not re.match(r"https?://", url):
        raise wrong_value("base_url", "must begin with http:// or https://; without it, DARKROOM_URL counts")
    if not re.fullmatch(r"[!-~]+", key):
        raise wrong_value("api_key", "must be given, or set as DARKROOM_API_KEY")
    return Settings(url, key, timeout_ms, retries_max, on_try)


def fields_of(given: dict[str, Any]) -> dict[str, Any]:
    """Leaves out what is None: the API reads an absent field as its default."""
    return {name: value for name, value in given.items() if value is not None}
