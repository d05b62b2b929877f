"""How requests are sent and repeated, without input or output.

Each function yields what it needs (`Send`, `Sleep`) and is given the answer, so that the blocking client and the one for
asyncio run the same code.
"""

from __future__ import annotations

import json
import random
import re
import ssl
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any, TypeVar, cast

import httpx

from .errors import DarkroomError

T = TypeVar("T")

_ANSWER_SECONDS_MAX = 60.0
_SLOWEST_BYTES_PER_SECOND = 50_000
_FIRST_PAUSE_SECONDS = 1.0
_PAUSE_SECONDS_MAX = 30.0
_LATENESS = 0.1
_TIMER_SECONDS = 0.01
_PERMANENT = (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.TooManyRedirects)

NO_ANSWER = (httpx.RequestError, httpx.InvalidURL)
"""What httpx raises in the place of an answer."""


@dataclass(frozen=True)
class Call:
    """One request."""

    method: str
    path: str
    """A path of the service, or a whole address, to which the key is never sent."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    """The body as it is sent, the same at every repeat."""
    answer_has: str | None = None
    """A field of the answer, by which it is known from that of a proxy on the way."""
    once: bool = False
    """True when a second request would do a second thing: then only a refusal is repeated."""
    held_seconds: float = 0
    """How long the answer may take beyond an ordinary one: it is held back, or large."""

    @property
    def answer_seconds_max(self) -> float:
        return _ANSWER_SECONDS_MAX + self.held_seconds + len(self.body or b"") / _SLOWEST_BYTES_PER_SECOND


@dataclass(frozen=True)
class Reply:
    """An answer that was read whole."""

    status: int
    headers: httpx.Headers
    content: bytes

    @cached_property
    def body(self) -> dict[str, Any]:
        """The JSON object in it. Empty when there is none."""
        try:
            said = json.loads(self.content)
        except ValueError:
            said = None
        return cast("dict[str, Any]", said) if isinstance(said, dict) else {}


@dataclass(frozen=True)
class Try:
    """One try of a call, for logs. It has no key, no body and no query."""

    method: str
    path: str
    number: int
    """Counts from 1."""
    duration_ms: float
    status: int | None
    headers: httpx.Headers | None
    code: str | None
    """Of the failure."""


@dataclass(frozen=True)
class Limits:
    """How long a call may take, how often it is repeated, and who is told of its tries."""

    timeout_ms: float
    retries_max: int
    on_try: Callable[[Try], None] | None
    ends_at: float

    def left_seconds(self) -> float:
        left = self.ends_at - time.monotonic()
        # A timer may fire a little early.
        return left if left > _TIMER_SECONDS else 0.0

    def over(self) -> DarkroomError:
        return DarkroomError(f"The call took longer than {self.timeout_ms:g} ms.", code="timeout")


@dataclass(frozen=True)
class Send:
    call: Call
    seconds_max: float


@dataclass(frozen=True)
class Sleep:
    seconds: float


Effect = Send | Sleep
Steps = Generator[Effect, Reply | None, T]


@dataclass(frozen=True)
class Failed:
    error: DarkroomError
    may_repeat: bool
    """Whether the same call may succeed later."""
    is_lost: bool
    """Whether the service may have done what was asked for, without the answer having arrived."""
    asked_seconds: float | None


def sleep(seconds: float, limits: Limits) -> Steps[None]:
    """Waits. Raises when the call is over before."""
    left = limits.left_seconds()
    yield Sleep(min(seconds, left))
    if seconds >= left:
        raise limits.over()


def attempt(call: Call, limits: Limits, number: int = 1) -> Steps[Reply | Failed]:
    """Sends a call once."""
    started_at = time.monotonic()
    reply: Reply | None = None
    try:
        reply = yield Send(call, min(call.answer_seconds_max, limits.left_seconds()))
        assert reply is not None
        tried = _fault_of(call, reply) or reply
    except NO_ANSWER as error:
        tried = unanswered(error, limits)
    tell(limits, call, number, started_at, reply, tried)
    return tried


def tell(
    limits: Limits, call: Call, number: int, started_at: float, reply: Reply | None, tried: Reply | Failed
) -> None:
    """Tells of one try."""
    if limits.on_try is not None:
        limits.on_try(
            Try(
                method=call.method,
                path=re.split("[?#]", call.path)[0],
                number=number,
                duration_ms=(time.monotonic() - started_at) * 1000,
                status=None if reply is None else reply.status,
                headers=None if reply is None else reply.headers,
                code=tried.error.code if isinstance(tried, Failed) else None,
            )
        )


def send(call: Call, limits: Limits) -> Steps[Reply]:
    """Sends a call until it is answered. Raises what cannot be repeated.

    The error has the call's idempotency key when the call may have been carried out.
    """
    is_lost = False
    number = 0
    while True:
        number += 1
        tried = yield from attempt(call, limits, number)
        if isinstance(tried, Reply):
            return tried
        is_lost = is_lost or tried.is_lost
        error = tried.error
        if is_lost:
            error.idempotency_key = call.headers.get("idempotency-key")
        seconds = pause_seconds(number, tried.asked_seconds)
        may_repeat = tried.may_repeat and not (call.once and tried.is_lost)
        if not may_repeat or number > limits.retries_max or seconds >= limits.left_seconds():
            raise error
        yield from sleep(seconds, limits)


def pause_seconds(failures: int, asked_seconds: float | None) -> float:
    """How long to wait before a repeat.

    What the answer asked for, in full, or a random part of a time that doubles ("full jitter"). `failures` counts from 1.
    """
    if asked_seconds is not None:
        return asked_seconds * (1 + random.random() * _LATENESS)
    return random.random() * min(_PAUSE_SECONDS_MAX, _FIRST_PAUSE_SECONDS * 2.0 ** (failures - 1))


def retry_after_seconds(headers: httpx.Headers) -> float | None:
    """How long an answer asks to wait (RFC 9110 section 10.2.3).

    A date is compared with the answer's own, because the clock here may be wrong.
    """
    text = str(headers.get("retry-after", ""))
    if text.isdecimal():
        return float(text)
    try:
        until, now = parsedate_to_datetime(text), parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, float((until - now).total_seconds()))
    except (TypeError, ValueError):
        return None


def unanswered(error: Exception, limits: Limits) -> Failed:
    """What a call without an answer means."""
    never_sent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, *_PERMANENT)
    is_permanent = isinstance(error, _PERMANENT) or _is_wrong_tls(error)
    is_over = limits.left_seconds() == 0
    code = "no_answer" if isinstance(error, httpx.TimeoutException) else "connection_failed"
    message = f"No answer arrived: {type(error).__name__}."
    failure = limits.over() if is_over else DarkroomError(message, code=code)
    failure.__cause__ = error
    return Failed(
        failure,
        may_repeat=not is_permanent and not is_over,
        is_lost=not isinstance(error, never_sent),
        asked_seconds=None,
    )


def _is_wrong_tls(error: Exception) -> bool:
    """Whether the certificate or the protocol is wrong. A handshake that ends in its middle may succeed later."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    passing = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
    return isinstance(error, httpx.ConnectError) and cause is not None and not isinstance(cause, passing)


def _fault_of(call: Call, reply: Reply) -> Failed | None:
    if not 200 <= reply.status < 300:
        return refusal_of(reply)
    is_answer = call.answer_has in reply.body if call.answer_has is not None else reply.body != {}
    if is_answer or not call.path.startswith("/"):
        return None
    # A proxy on the way may have answered. Whether the service got the call nobody knows.
    message = "The answer is not the service's. Does the address lead to it?"
    error = DarkroomError(message, code="answer_not_read", status=reply.status)
    return Failed(error, may_repeat=True, is_lost=True, asked_seconds=None)


def refusal_of(reply: Reply) -> Failed:
    status, headers = reply.status, reply.headers
    said = _error_in(reply)
    message = said.get("message", f"The answer was HTTP {status}.")
    code = said.get("code")
    if 300 <= status < 400:
        code = "redirected"
        message = "The service redirects elsewhere. Give the address that it redirects to as base_url."
    error = DarkroomError(
        message,
        status=status,
        code=code,
        param=said.get("param"),
        request_id=headers.get("x-request-id"),
        task_id=headers.get("x-task-id"),
    )
    is_temporary = status == 429 or status >= 500
    return Failed(
        error,
        may_repeat=is_temporary and headers.get("x-should-retry") != "false",
        is_lost=status >= 500,
        asked_seconds=retry_after_seconds(headers),
    )


def _error_in(reply: Reply) -> dict[str, str]:
    """Reads an error envelope. A proxy on the way may have answered anything."""
    error = reply.body.get("error")
    known = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    return {name: known[name] for name in ("message", "code", "param") if isinstance(known.get(name), str)}
