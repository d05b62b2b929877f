from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, cast
from urllib.parse import quote

import httpx
from typing_extensions import Self, Unpack

from ._core import tasks
from ._core.calls import NO_ANSWER, Effect, Limits, Reply, Send, Steps, Try
from ._core.settings import Settings, fields_of, read_settings
from ._core.signature import sign, unwrap
from ._core.sources import SourceImage, read_sources
from ._core.tasks import AcceptedTask, OnProgress, TaskRecord
from .api_types import (
    Account,
    Estimate,
    EstimateRequest,
    ListedTask,
    ListTasksQuery,
    ModelList,
    TaskRequest,
    Usage,
    Webhook,
    WebhookDelivery,
    WebhookWithSecret,
)

T = TypeVar("T")
Row = TypeVar("Row")


class AsyncRunner:
    """Sends what steps ask for, and waits in between."""

    def __init__(self, settings: Settings, http: httpx.AsyncClient) -> None:
        self.settings = settings
        self.http = http

    async def run(self, steps: Steps[T]) -> T:
        reply: Reply | None = None
        error: Exception | None = None
        while True:
            try:
                effect = steps.send(reply) if error is None else steps.throw(error)
            except StopIteration as end:
                return cast(T, end.value)
            reply, error = None, None
            try:
                reply = await self._perform(effect)
            except NO_ANSWER as failure:
                error = failure

    async def _perform(self, effect: Effect) -> Reply | None:
        if not isinstance(effect, Send):
            await asyncio.sleep(effect.seconds)
            return None
        ends_at = time.monotonic() + effect.seconds_max
        content = bytearray()
        async with self.http.stream(**self.settings.request(effect.call, effect.seconds_max)) as response:
            async for chunk in response.aiter_bytes():
                content += chunk
                if time.monotonic() > ends_at:
                    raise httpx.ReadTimeout("The answer took too long.")
        return Reply(response.status_code, response.headers, bytes(content))


class AsyncRows(Generic[Row]):
    """A list that is read as far as it is iterated over."""

    def __init__(self, read_page: Callable[[str | None], Any], id_field: str) -> None:
        self._read_page = read_page
        self._id_field = id_field

    async def pages(self) -> AsyncIterator[list[Row]]:
        """The same page by page, each with one request."""
        after = None
        while True:
            page = await self._read_page(after)
            yield page["data"]
            if not page["has_more"] or not page["data"]:
                return
            after = page["data"][-1][self._id_field]

    async def __aiter__(self) -> AsyncIterator[Row]:
        async for rows in self.pages():
            for row in rows:
                yield row


class AsyncPicture:
    """The image of a task. Nothing is loaded before it is asked for."""

    def __init__(self, runner: AsyncRunner, task: TaskRecord, url: str) -> None:
        self.task = task
        self.url = url
        """Its address, which works without a key until the image expires."""
        self._runner = runner

    async def bytes(self, *, timeout_ms: float | None = None) -> bytes:
        limits = self._runner.settings.limits(timeout_ms)
        return await self._runner.run(tasks.download(self.url, self.task["task_id"], limits))

    async def save(self, path: str | os.PathLike[str], *, timeout_ms: float | None = None) -> None:
        """Writes the image to a file, which is there whole or not at all."""
        content = await self.bytes(timeout_ms=timeout_ms)
        await asyncio.to_thread(write_whole, path, content)

    def variant(
        self,
        *,
        width: Literal[128, 256, 512, 1024] | None = None,
        format: Literal["png", "jpeg", "webp"] | None = None,
        original: bool = False,
    ) -> AsyncPicture:
        """A smaller or converted form, or the file as the vendor made it, where that was not a PNG."""
        return AsyncPicture(self._runner, self.task, self.url + tasks.variant_query(width, format, original))


class AsyncTasks:
    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner
        self._limits = runner.settings.limits

    async def create(
        self, *, idempotency_key: str | None = None, timeout_ms: float | None = None, **request: Unpack[TaskRequest]
    ) -> AcceptedTask:
        """Submits a task, and returns as soon as it is accepted."""
        return await self._runner.run(tasks.submit(request, idempotency_key, self._limits(timeout_ms)))

    async def get(self, task_id: str, *, timeout_ms: float | None = None) -> TaskRecord:
        return await self._runner.run(tasks.ask_record("GET", tasks.task_path(task_id), self._limits(timeout_ms)))

    def list(self, *, timeout_ms: float | None = None, **query: Unpack[ListTasksQuery]) -> AsyncRows[ListedTask]:
        """Lists tasks, newest first. `limit` is the length of a page."""
        return list_rows(self._runner, "/v1/tasks", query, "task_id", timeout_ms)

    async def wait(
        self,
        task_id: str,
        *,
        on_progress: OnProgress | None = None,
        poll_ms: float | None = None,
        timeout_ms: float | None = None,
    ) -> TaskRecord:
        """Waits until a task has ended, and returns its record, also when it has failed."""
        return await self._runner.run(tasks.wait(task_id, self._limits(timeout_ms), on_progress, poll_ms))

    async def follow(self, task_id: str, *, timeout_ms: float | None = None) -> AsyncIterator[TaskRecord]:
        """Yields the record of a task at each change of status and progress, the last one with its end.

        While nothing changes, the deadline may be noticed 15 seconds late.
        """
        events = tasks.Events(task_id, self._limits(timeout_ms))
        while True:
            reply: Reply | None = None
            try:
                async with self._runner.http.stream(**self._runner.settings.request(*events.begin())) as response:
                    content = b"" if response.is_success else await response.aread()
                    reply = Reply(response.status_code, response.headers, content)
                    if events.answered(reply):
                        async for chunk in response.aiter_bytes():
                            for record in events.take(chunk):
                                yield record
                            if events.has_ended:
                                return
            except NO_ANSWER as error:
                events.broke(error, reply)
            if events.has_ended:
                return
            await self._runner.run(events.pause())

    async def cancel(self, task_id: str, *, timeout_ms: float | None = None) -> TaskRecord:
        """Cancels a task at no charge. Raises `task_not_cancellable` when its image may be charged."""
        path = tasks.task_path(task_id, "/cancel")
        return await self._runner.run(tasks.ask_record("POST", path, self._limits(timeout_ms)))

    async def result(self, task_id: str, *, timeout_ms: float | None = None) -> dict[str, Any]:
        """Reads the answer of the model in its own shape, with the image as Base64 in it."""
        return await self._runner.run(tasks.result(task_id, self._limits(timeout_ms)))

    async def delete(self, task_id: str, *, timeout_ms: float | None = None) -> TaskRecord:
        """Deletes an ended task's image, prompt and source images for good."""
        return await self._runner.run(tasks.ask_record("DELETE", tasks.task_path(task_id), self._limits(timeout_ms)))


class AsyncImages:
    """Images: a task is made and waited for in one. A failed task is raised as `DarkroomError`."""

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def generate(
        self,
        *,
        model: str,
        prompt: str,
        size: str | None = None,
        aspect_ratio: str | None = None,
        quality: str | None = None,
        idempotency_key: str | None = None,
        on_progress: OnProgress | None = None,
        poll_ms: float | None = None,
        timeout_ms: float | None = None,
    ) -> AsyncPicture:
        given = {"model": model, "prompt": prompt, "size": size, "aspect_ratio": aspect_ratio, "quality": quality}
        request = {**fields_of(given), "action": "generate"}
        limits = self._runner.settings.limits(timeout_ms)
        return await self._make(request, idempotency_key, on_progress, poll_ms, limits)

    async def edit(
        self,
        *,
        images: Sequence[SourceImage],
        model: str,
        prompt: str,
        size: str | None = None,
        aspect_ratio: str | None = None,
        quality: str | None = None,
        idempotency_key: str | None = None,
        on_progress: OnProgress | None = None,
        poll_ms: float | None = None,
        timeout_ms: float | None = None,
    ) -> AsyncPicture:
        """`images` are 1 to 16 of PNG, JPEG or WebP, 20 MiB each, 64 MiB together."""
        given = {"model": model, "prompt": prompt, "size": size, "aspect_ratio": aspect_ratio, "quality": quality}
        limits = self._runner.settings.limits(timeout_ms)
        input_images = await asyncio.to_thread(read_sources, images)
        request = {**fields_of(given), "action": "edit", "input_images": input_images}
        return await self._make(request, idempotency_key, on_progress, poll_ms, limits)

    def of(self, task: TaskRecord) -> AsyncPicture:
        """Returns the image of a record, such as one that another process waited for."""
        return AsyncPicture(self._runner, task, tasks.image_address(task))

    async def _make(
        self,
        request: Mapping[str, Any],
        key: str | None,
        on_progress: OnProgress | None,
        poll_ms: float | None,
        limits: Limits,
    ) -> AsyncPicture:
        return self.of(await self._runner.run(tasks.make_image(request, key, limits, on_progress, poll_ms)))


class AsyncWebhooks:
    """Registers webhooks, reads their deliveries, and checks what a receiver got."""

    unwrap = staticmethod(unwrap)
    sign = staticmethod(sign)

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def _ask(self, method: str, path: str, timeout_ms: float | None, body: object = None) -> Any:
        # A second POST would make a second webhook, secret or delivery.
        limits = self._runner.settings.limits(timeout_ms)
        return await self._runner.run(tasks.ask(method, path, limits, body, once=method == "POST"))

    async def create(
        self, *, url: str, events: Sequence[str] | None = None, timeout_ms: float | None = None
    ) -> WebhookWithSecret:
        """Registers a webhook. The secret is in this answer alone."""
        body = fields_of({"url": url, "events": events})
        return cast(WebhookWithSecret, await self._ask("POST", "/v1/webhooks", timeout_ms, body))

    def list(self, *, limit: int | None = None, timeout_ms: float | None = None) -> AsyncRows[Webhook]:
        return list_rows(self._runner, "/v1/webhooks", {"limit": limit}, "webhook_id", timeout_ms)

    async def get(self, webhook_id: str, *, timeout_ms: float | None = None) -> Webhook:
        return cast(Webhook, await self._ask("GET", tasks.webhook_path(webhook_id), timeout_ms))

    async def delete(self, webhook_id: str, *, timeout_ms: float | None = None) -> None:
        """Deletes a webhook. What is pending ends as failed."""
        await self._runner.run(tasks.delete_webhook(webhook_id, self._runner.settings.limits(timeout_ms)))

    async def rotate(self, webhook_id: str, *, timeout_ms: float | None = None) -> WebhookWithSecret:
        """Makes a new secret. For 24 hours both sign."""
        return cast(WebhookWithSecret, await self._ask("POST", tasks.webhook_path(webhook_id, "/rotate"), timeout_ms))

    async def enable(self, webhook_id: str, *, timeout_ms: float | None = None) -> Webhook:
        """Enables a webhook that a 410 or the operator disabled."""
        return cast(Webhook, await self._ask("POST", tasks.webhook_path(webhook_id, "/enable"), timeout_ms))

    async def test(self, webhook_id: str, *, timeout_ms: float | None = None) -> WebhookDelivery:
        """Sends a `webhook.test`."""
        return cast(WebhookDelivery, await self._ask("POST", tasks.webhook_path(webhook_id, "/test"), timeout_ms))

    def deliveries(
        self, webhook_id: str, *, limit: int | None = None, timeout_ms: float | None = None
    ) -> AsyncRows[WebhookDelivery]:
        """Lists the deliveries of a webhook with their tries, newest first."""
        path = tasks.webhook_path(webhook_id, "/deliveries")
        return list_rows(self._runner, path, {"limit": limit}, "delivery_id", timeout_ms)

    async def redeliver(self, webhook_id: str, delivery_id: str, *, timeout_ms: float | None = None) -> WebhookDelivery:
        """Sends an event again, under the same `webhook-id`."""
        path = tasks.webhook_path(webhook_id, f"/deliveries/{quote(delivery_id, safe='')}/redeliver")
        return cast(WebhookDelivery, await self._ask("POST", path, timeout_ms))


class AsyncModels:
    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def list(self, *, timeout_ms: float | None = None) -> ModelList:
        """The models that the account may use, with their prices."""
        limits = self._runner.settings.limits(timeout_ms)
        return cast(ModelList, await self._runner.run(tasks.ask("GET", "/v1/models", limits)))


class AsyncAccountReads:
    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def get(self, *, timeout_ms: float | None = None) -> Account:
        limits = self._runner.settings.limits(timeout_ms)
        return cast(Account, await self._runner.run(tasks.ask("GET", "/v1/account", limits)))


class AsyncUsageReads:
    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def get(
        self,
        *,
        start_time: str | None = None,
        end_time: str | None = None,
        group_by: str | None = None,
        timeout_ms: float | None = None,
    ) -> Usage:
        query = {"start_time": start_time, "end_time": end_time, "group_by": group_by}
        limits = self._runner.settings.limits(timeout_ms)
        path = tasks.path_with("/v1/usage", query)
        return cast(Usage, await self._runner.run(tasks.ask("GET", path, limits)))


class AsyncDarkroom:
    """A client of Darkroom. Each purchase has an idempotency key, so no repeat buys twice.

    Requests and records have the fields of the API. `base_url` and `api_key` are DARKROOM_URL and DARKROOM_API_KEY unless
    they are given. A call takes `timeout_ms` (45 minutes) at most, repeats and waiting included, and is repeated at most
    `retries_max` (4) times. `on_try` is told of each HTTP request with its answer. `http_client` is closed by its owner.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_ms: float = 45 * 60_000,
        retries_max: int = 4,
        on_try: Callable[[Try], None] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._owned = httpx.AsyncClient() if http_client is None else None
        settings = read_settings(base_url, api_key, timeout_ms, retries_max, on_try)
        self._runner = AsyncRunner(settings, http_client or cast(httpx.AsyncClient, self._owned))
        self.tasks = AsyncTasks(self._runner)
        self.images = AsyncImages(self._runner)
        self.models = AsyncModels(self._runner)
        self.account = AsyncAccountReads(self._runner)
        self.usage = AsyncUsageReads(self._runner)
        self.webhooks = AsyncWebhooks(self._runner)

    def with_options(
        self,
        *,
        timeout_ms: float | None = None,
        retries_max: int | None = None,
        on_try: Callable[[Try], None] | None = None,
    ) -> AsyncDarkroom:
        """Returns a client with other settings, for some calls, which uses the connections of this one."""
        settings = self._runner.settings
        return AsyncDarkroom(
            base_url=settings.base_url,
            api_key=settings.api_key,
            timeout_ms=settings.timeout_ms if timeout_ms is None else timeout_ms,
            retries_max=settings.retries_max if retries_max is None else retries_max,
            on_try=on_try or settings.on_try,
            http_client=self._runner.http,
        )

    async def estimate(self, *, timeout_ms: float | None = None, **request: Unpack[EstimateRequest]) -> Estimate:
        """Says what a request would cost, and whether it would be accepted now. It buys nothing."""
        limits = self._runner.settings.limits(timeout_ms)
        return cast(Estimate, await self._runner.run(tasks.ask("POST", "/v1/estimate", limits, request)))

    async def close(self) -> None:
        if self._owned is not None:
            await self._owned.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


def list_rows(
    runner: AsyncRunner, path: str, query: Mapping[str, Any], id_field: str, timeout_ms: float | None
) -> AsyncRows[Any]:
    return AsyncRows(lambda after: runner.run(tasks.page(path, query, after, runner.settings.limits(timeout_ms))), id_field)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file that is there whole or not at all."""
    part = Path(f"{os.fspath(path)}.{secrets.token_hex(4)}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
