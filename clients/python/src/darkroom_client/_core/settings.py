from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from .calls import Call, Limits, Try
from .errors import wrong_value

VERSION = "0.1.0"

_CONNECT_SECONDS_MAX = 10.0
_TIMEOUT_SECONDS_MIN = 0.001


@dataclass(frozen=True)
class Settings:
    """What a client was made with."""

    base_url: str
    api_key: str = field(repr=False)
    timeout_ms: float
    retries_max: int
    on_try: Callable[[Try], None] | None

    def limits(self, timeout_ms: float | None) -> Limits:
        """Begins a call: its deadline holds for all requests that it makes."""
        timeout_ms = self.timeout_ms if timeout_ms is None else timeout_ms
        return Limits(timeout_ms, self.retries_max, self.on_try, time.monotonic() + timeout_ms / 1000)

    def request(self, call: Call, seconds_max: float) -> RequestArguments:
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
            "extensions": {"timeout": _TimeLeft(seconds_max)},
            # A redirect would lose the body of a POST, or take it to a stranger. Images may redirect.
            "follow_redirects": not is_ours,
        }


class _TimeLeft(Mapping[str, float]):
    """How long httpx lets each phase of a request take: what is left when it begins. Its own timeouts add up."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds

    def __getitem__(self, phase: str) -> float:
        left = max(_TIMEOUT_SECONDS_MIN, self._ends_at - time.monotonic())
        return min(left, _CONNECT_SECONDS_MAX) if phase == "connect" else left

    def __iter__(self) -> Iterator[str]:
        return iter(("connect", "read", "write", "pool"))

    def __len__(self) -> int:
        return 4


class RequestArguments(TypedDict):
    method: str
    url: str
    headers: dict[str, str]
    content: bytes | None
    extensions: dict[str, Any]
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
