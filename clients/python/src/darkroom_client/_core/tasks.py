"""What the client does with tasks, without input or output (see `calls`)."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypedDict, cast
from urllib.parse import quote, urlencode

from typing_extensions import NotRequired

from .calls import (
    Call,
    Failed,
    Limits,
    Reply,
    Steps,
    Try,
    attempt,
    pause_seconds,
    refusal_of,
    retry_after_seconds,
    send,
    sleep,
    tell,
    unanswered,
)
from .errors import DarkroomError, wrong_value
from ..api_types import Task, TaskAccepted

_HOLD_SECONDS_MAX = 60
_POLL_SECONDS = 3.0
_DOWNLOAD_SECONDS = 300.0
"""A large image over a slow line."""
_ENDS = ("succeeded", "completed", "failed", "expired")
_SILENCE_SECONDS_MAX = 45.0
"""Of a stream of events: the service sends a comment each 15 s."""


class TaskRecord(Task):
    """The record of a task, with what it cost once it has ended."""

    credits_charged: NotRequired[int]


class AcceptedTask(TaskAccepted):
    """An accepted task. Its id is all that another process needs to wait for it."""

    idempotency_key: str
    idempotent_replayed: bool
    """Whether an earlier call with this key made the task."""
    credits_held: int


class TaskProgress(TypedDict):
    task_id: str
    status: str
    progress: int


OnProgress = Callable[[TaskProgress], None]


def path_with(path: str, query: Mapping[str, Any]) -> str:
    """Returns a path with a query of the fields that are given."""
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def task_path(task_id: str, more: str = "") -> str:
    return f"/v1/tasks/{quote(task_id, safe='')}{more}"


def webhook_path(webhook_id: str, more: str = "") -> str:
    return f"/v1/webhooks/{quote(webhook_id, safe='')}{more}"


def ask(method: str, path: str, limits: Limits, body: object = None, *, once: bool = False) -> Steps[Any]:
    """Makes a call, and returns the body of its answer."""
    content = None if body is None else json.dumps(body).encode()
    reply = yield from send(Call(method, path, body=content, once=once), limits)
    return reply.body


def result(task_id: str, limits: Limits) -> Steps[dict[str, Any]]:
    """Reads the answer of the model, which has the whole image in it."""
    call = Call("GET", task_path(task_id, "/result"), held_seconds=_DOWNLOAD_SECONDS)
    return (yield from send(call, limits)).body


def delete_webhook(webhook_id: str, limits: Limits) -> Steps[None]:
    is_lost = False

    def see(seen: Try) -> None:
        nonlocal is_lost
        is_lost = is_lost or seen.status is None or not 400 <= seen.status < 500
        if limits.on_try is not None:
            limits.on_try(seen)

    try:
        yield from send(Call("DELETE", webhook_path(webhook_id)), replace(limits, on_try=see))
    except DarkroomError as error:
        # The try whose answer was lost has deleted it.
        if not is_lost or error.code != "webhook_not_found":
            raise


def ask_record(method: str, path: str, limits: Limits) -> Steps[TaskRecord]:
    return _record_of((yield from send(Call(method, path, answer_has="status"), limits)))


def page(path: str, query: Mapping[str, Any], after: str | None, limits: Limits) -> Steps[Any]:
    """Reads one page of a list."""
    return (yield from ask("GET", path_with(path, {**query, "after": after or query.get("after")}), limits))


def submit(request: Mapping[str, Any], key: str | None, limits: Limits) -> Steps[AcceptedTask]:
    """Submits a task. The key and the body are the same at every repeat."""
    key = secrets.token_hex(16) if key is None else key
    if re.fullmatch(r"[ -~]{1,255}", key) is None:
        raise wrong_value("idempotency_key", "takes 1 to 255 characters of ASCII")
    # Reading the source images may have taken all the time.
    if limits.left_seconds() == 0:
        raise limits.over()
    body = json.dumps(request).encode()
    call = Call("POST", "/v1/images/tasks", {"idempotency-key": key}, body, answer_has="task_id")
    reply = yield from send(call, limits)
    accepted = {
        **reply.body,
        "idempotency_key": key,
        "idempotent_replayed": reply.headers.get("idempotent-replayed") == "true",
        "credits_held": int(reply.headers.get("x-credits-held", "0")),
    }
    return cast(AcceptedTask, accepted)


def wait(task_id: str, limits: Limits, on_progress: OnProgress | None, poll_ms: float | None) -> Steps[TaskRecord]:
    """Returns the record of a task when it has ended, in whichever way.

    The task is bought already, so this goes on through every failure that may pass, until the deadline.
    """
    hold_seconds = _HOLD_SECONDS_MAX
    poll_seconds = _POLL_SECONDS if poll_ms is None else poll_ms / 1000
    failures = 0
    try:
        while True:
            tried = yield from attempt(_lookup(task_id, hold_seconds, limits), limits)
            if isinstance(tried, Failed):
                failures += 1
                # A proxy on the way may cut what is silent for long. Zero is polling.
                hold_seconds //= 2
                yield from pause_after(tried, failures, limits)
                continue
            failures = 0
            record = _record_of(tried)
            if on_progress is not None:
                on_progress({"task_id": task_id, "status": record["status"], "progress": record["progress"]})
            if has_ended(record):
                return record
            if "preference-applied" not in tried.headers:
                yield from sleep(max(poll_seconds, retry_after_seconds(tried.headers) or 0), limits)
    except DarkroomError as error:
        raise _knowing(error, task_id)


def make_image(
    request: Mapping[str, Any],
    key: str | None,
    limits: Limits,
    on_progress: OnProgress | None,
    poll_ms: float | None,
) -> Steps[TaskRecord]:
    """Submits a task and waits for its end. An error meanwhile has its key: the outcome is unknown."""
    accepted = yield from submit(request, key, limits)
    if on_progress is not None:
        on_progress({"task_id": accepted["task_id"], "status": accepted["status"], "progress": 0})
    try:
        return (yield from wait(accepted["task_id"], limits, on_progress, poll_ms))
    except DarkroomError as error:
        error.idempotency_key = accepted["idempotency_key"]
        raise


def image_address(record: TaskRecord) -> str:
    """Returns the address of a record's image. Raises when it has none."""
    task_id = record["task_id"]
    if "output" in record:
        return record["output"]["assets"][0]["url"]
    if "error" in record:
        raise DarkroomError(record["error"]["message"], code=record["error"]["code"], task_id=task_id)
    if record["status"] == "expired":
        raise _gone(task_id)
    message = f"The task has no image yet: it is {record['status']}."
    raise DarkroomError(message, code="task_not_finished", task_id=task_id)


def download(address: str, task_id: str, limits: Limits) -> Steps[bytes]:
    try:
        return (yield from send(Call("GET", address, held_seconds=_DOWNLOAD_SECONDS), limits)).content
    except DarkroomError as error:
        if error.status == 404:
            raise _gone(task_id) from error
        raise


def variant_query(
    width: Literal[128, 256, 512, 1024] | None,
    format: Literal["png", "jpeg", "webp"] | None,
    original: bool,
) -> str:
    """The service takes these parameters in this order alone."""
    if original:
        return "&original=true"
    return ("" if width is None else f"&width={width}") + ("" if format is None else f"&format={format}")


def has_ended(record: Mapping[str, Any]) -> bool:
    """Whether a record says that its task has ended. A status that this version does not know is no end."""
    return record["status"] in _ENDS


def pause_after(failed: Failed | None, failures: int, limits: Limits) -> Steps[None]:
    """Waits before the next request. Raises what no repeat can mend, and when the deadline comes before."""
    if failed is not None and not failed.may_repeat:
        raise failed.error
    yield from sleep(pause_seconds(failures, None if failed is None else failed.asked_seconds), limits)


class Events:
    """Reads the events of a task, and knows where to resume.

    https://html.spec.whatwg.org/multipage/server-sent-events.html
    """

    def __init__(self, task_id: str, limits: Limits) -> None:
        self.has_ended = False
        self._task_id = task_id
        self._limits = limits
        self._last_id: str | None = None
        self._failures = 0
        self._failed: Failed | None = None
        self._rest = b""

    def begin(self) -> tuple[Call, float]:
        """The request that begins or resumes the stream, and how long the stream may be silent."""
        headers = {} if self._last_id is None else {"last-event-id": self._last_id}
        self._call = Call("GET", task_path(self._task_id, "/events"), headers)
        self._began_at = time.monotonic()
        self._failed = None
        self._rest = b""
        return self._call, min(_SILENCE_SECONDS_MAX, self._limits.left_seconds())

    def answered(self, reply: Reply) -> bool:
        """Whether events follow the head of an answer. 204: the end was seen."""
        self.has_ended = reply.status == 204
        self._failed = None if reply.status in (200, 204) else refusal_of(reply)
        tell(self._limits, self._call, self._failures + 1, self._began_at, reply, self._failed or reply)
        return reply.status == 200

    def broke(self, error: Exception, reply: Reply | None) -> None:
        self._failed = unanswered(error, self._limits)
        if reply is None:
            tell(self._limits, self._call, self._failures + 1, self._began_at, None, self._failed)

    def take(self, chunk: bytes) -> list[TaskRecord]:
        """Returns the records of the events that end in a chunk."""
        if self._limits.left_seconds() == 0:
            raise _knowing(self._limits.over(), self._task_id)
        # Lines end with CR, LF or both, and with nothing else that Unicode has.
        *blocks, self._rest = re.split(rb"(?:\r\n|\n|\r(?!\n)){2}", self._rest + chunk)
        records = [record for block in blocks if (record := self._record_in(block.decode())) is not None]
        self.has_ended = any(has_ended(record) for record in records)
        return records

    def _record_in(self, block: str) -> TaskRecord | None:
        lines = [re.fullmatch(r"(\w+): ?(.*)", line) for line in re.split(r"\r\n|\r|\n", block)]
        fields = [line.groups() for line in lines if line is not None]
        data = "\n".join(value for name, value in fields if name == "data")
        if data == "":
            return None
        self._failures = 0
        self._last_id = next((value for name, value in fields if name == "id"), self._last_id)
        return cast(TaskRecord, json.loads(data))

    def pause(self) -> Steps[None]:
        """Waits before the stream is resumed."""
        self._failures += 1
        try:
            yield from pause_after(self._failed, self._failures, self._limits)
        except DarkroomError as error:
            raise _knowing(error, self._task_id)


def _lookup(task_id: str, hold_seconds: int, limits: Limits) -> Call:
    seconds = min(hold_seconds, int(limits.left_seconds()) + 1)
    headers = {"prefer": f"wait={seconds}"} if seconds > 0 else {}
    return Call("GET", task_path(task_id), headers, answer_has="status", held_seconds=seconds)


def _record_of(reply: Reply) -> TaskRecord:
    record = cast(TaskRecord, reply.body)
    charged = reply.headers.get("x-credits-charged")
    if charged is not None:
        record["credits_charged"] = int(charged)
    return record


def _knowing(error: DarkroomError, task_id: str) -> DarkroomError:
    error.task_id = error.task_id or task_id
    return error


def _gone(task_id: str) -> DarkroomError:
    message = "The image is not there any more: it has expired, or was deleted."
    return DarkroomError(message, code="result_expired", task_id=task_id)
