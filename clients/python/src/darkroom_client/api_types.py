# Made by `node clients/python/makeTypes.ts` from the OpenAPI document: do not edit.

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict


class TaskRequest(TypedDict):
    model: str
    action: Literal["generate", "edit"]
    prompt: str
    input_images: NotRequired[list[InputImage]]
    """Required when `action` is `edit`, and absent otherwise."""
    size: NotRequired[str]
    """As far as the model supports it. Family A: a tier. Family B: a size in pixels."""
    aspect_ratio: NotRequired[str]
    """Family A only, as far as the model supports it."""
    quality: NotRequired[str]
    """Sent to the upstream for family B. No effect for family A."""
    n: NotRequired[Literal[1]]
    """One request makes one image."""


class InputImage(TypedDict):
    mime_type: Literal["image/png", "image/jpeg", "image/webp"]
    """The type of the decoded bytes."""
    data: str
    """Base64 without a data-URL prefix. At most 20 MiB decoded, 64 MiB together."""


class EstimateRequest(TypedDict):
    """The body of a submit. `data` of its images may be left out."""

    model: str
    action: Literal["generate", "edit"]
    prompt: str
    input_images: NotRequired[list[EstimatedImage]]
    size: NotRequired[str]
    """As far as the model supports it. Family A: a tier. Family B: a size in pixels."""
    aspect_ratio: NotRequired[str]
    """Family A only, as far as the model supports it."""
    quality: NotRequired[str]
    """Sent to the upstream for family B. No effect for family A."""
    n: NotRequired[Literal[1]]
    """One request makes one image."""


class EstimatedImage(TypedDict):
    mime_type: Literal["image/png", "image/jpeg", "image/webp"]
    """The type of the decoded bytes."""
    data: NotRequired[str]
    """Base64 without a data-URL prefix. At most 20 MiB decoded, 64 MiB together."""


class TaskAccepted(TypedDict):
    """An accepted task."""

    task_id: str
    """The public identifier of a task."""
    status: Literal["queued"]
    created_at: int
    """Unix time in seconds."""


class EstimateReason(TypedDict):
    """Why not: the error that the submit would get."""

    code: str
    message: str


class EstimateBudget(TypedDict):
    left: int
    renews_at: str


class Estimate(TypedDict):
    """What a submit would hold, and whether it would be accepted."""

    object: Literal["estimate"]
    credits: int
    """What the submit would hold."""
    accepted: bool
    """Whether the submit would be accepted now."""
    reason: NotRequired[EstimateReason]
    """Why not: the error that the submit would get."""
    credits_available: int
    """Credits of the account that are not held."""
    budget: EstimateBudget | None
    """What is left of the budget of the API key. Null: it has none."""
    expected_seconds: int
    """The usual duration of the model, and what of the account waits before it now."""


class TaskOutputAsset(TypedDict):
    type: Literal["image"]
    url: str
    """A download address. It works without a header."""
    mime_type: Literal["image/png", "image/jpeg", "image/webp"]


class TaskOutput(TypedDict):
    """Present while `status` is `succeeded`."""

    assets: list[TaskOutputAsset]


class TaskError(TypedDict):
    """Present when `status` is `failed`."""

    code: Literal["content_policy_violation", "no_image_generated", "upstream_invalid_request", "rate_limit_exceeded", "generation_timeout", "upstream_error", "cancelled"]
    message: str


class Task(TypedDict):
    """The record of a task. Fields that do not apply are absent, never null."""

    task_id: str
    """The public identifier of a task."""
    model: str
    status: Literal["queued", "processing", "succeeded", "failed", "expired"]
    """`succeeded`, `failed` and `expired` are ends. A succeeded task becomes `expired` when its image is deleted, after 24 hours by default."""
    created_at: str
    progress: int
    """Percent. It never falls, and is 100 only after success."""
    completed_at: NotRequired[str]
    """Present when the task has ended."""
    output: NotRequired[TaskOutput]
    """Present while `status` is `succeeded`."""
    error: NotRequired[TaskError]
    """Present when `status` is `failed`."""
    result: NotRequired[ImagesResult | ContentResult]
    """The native response of the model family, with the address of the image in the place of its bytes. Present while `status` is `succeeded`."""


class ImagesResultData(TypedDict):
    url: str


class ImagesResultUsageInputTokensDetails(TypedDict):
    text_tokens: int
    image_tokens: int


class ImagesResultUsageOutputTokensDetails(TypedDict):
    text_tokens: int
    image_tokens: int


class ImagesResultUsage(TypedDict):
    """A number that the upstream does not report is computed from the others, or 0. Tokens that it does not divide count as image tokens."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: ImagesResultUsageInputTokensDetails
    output_tokens_details: ImagesResultUsageOutputTokensDetails


class ImagesResult(TypedDict):
    """The response of family B, with the image by address."""

    created: int
    """Unix time in seconds."""
    data: list[ImagesResultData]
    size: NotRequired[str]
    """Present when the upstream reports it."""
    quality: NotRequired[str]
    """Present when the upstream reports it."""
    usage: ImagesResultUsage
    """A number that the upstream does not report is computed from the others, or 0. Tokens that it does not divide count as image tokens."""


class ContentResultCandidateContentPartFileData(TypedDict):
    mimeType: Literal["image/png", "image/jpeg", "image/webp"]
    fileUri: str


class ContentResultCandidateContentPart(TypedDict):
    text: NotRequired[str]
    thoughtSignature: NotRequired[str]
    fileData: NotRequired[ContentResultCandidateContentPartFileData]


class ContentResultCandidateContent(TypedDict):
    parts: NotRequired[list[ContentResultCandidateContentPart]]


class ContentResultCandidate(TypedDict):
    content: NotRequired[ContentResultCandidateContent]
    finishReason: NotRequired[str]


class ContentResultPromptFeedback(TypedDict):
    """Why the model refused the prompt."""

    pass


class ContentResultUsageMetadata(TypedDict):
    pass


class ContentResult(TypedDict):
    """The response of family A, with the image by address."""

    candidates: NotRequired[list[ContentResultCandidate]]
    """The first candidate of the model."""
    promptFeedback: NotRequired[ContentResultPromptFeedback]
    """Why the model refused the prompt."""
    usageMetadata: NotRequired[ContentResultUsageMetadata]
    modelVersion: str
    responseId: str


class ImagesResponseData(TypedDict):
    b64_json: str


class ImagesResponseUsageInputTokensDetails(TypedDict):
    text_tokens: int
    image_tokens: int


class ImagesResponseUsageOutputTokensDetails(TypedDict):
    text_tokens: int
    image_tokens: int


class ImagesResponseUsage(TypedDict):
    """A number that the upstream does not report is computed from the others, or 0. Tokens that it does not divide count as image tokens."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: ImagesResponseUsageInputTokensDetails
    output_tokens_details: ImagesResponseUsageOutputTokensDetails


class ImagesResponse(TypedDict):
    """The native response of family B."""

    created: int
    """Unix time in seconds."""
    data: list[ImagesResponseData]
    """The image, a PNG in Base64."""
    size: NotRequired[str]
    """Present when the upstream reports it."""
    quality: NotRequired[str]
    """Present when the upstream reports it."""
    usage: ImagesResponseUsage
    """A number that the upstream does not report is computed from the others, or 0. Tokens that it does not divide count as image tokens."""


class ContentResponseCandidateContentPartInlineData(TypedDict):
    mimeType: Literal["image/png", "image/jpeg", "image/webp"]
    data: str


class ContentResponseCandidateContentPart(TypedDict):
    text: NotRequired[str]
    thoughtSignature: NotRequired[str]
    inlineData: NotRequired[ContentResponseCandidateContentPartInlineData]


class ContentResponseCandidateContent(TypedDict):
    parts: NotRequired[list[ContentResponseCandidateContentPart]]


class ContentResponseCandidate(TypedDict):
    content: NotRequired[ContentResponseCandidateContent]
    finishReason: NotRequired[str]


class ContentResponsePromptFeedback(TypedDict):
    """Why the model refused the prompt."""

    pass


class ContentResponseUsageMetadata(TypedDict):
    pass


class ContentResponse(TypedDict):
    """The native response of family A."""

    candidates: NotRequired[list[ContentResponseCandidate]]
    """The first candidate of the model."""
    promptFeedback: NotRequired[ContentResponsePromptFeedback]
    """Why the model refused the prompt."""
    usageMetadata: NotRequired[ContentResponseUsageMetadata]
    modelVersion: str
    responseId: str


class TaskList(TypedDict):
    """One page of tasks, newest first."""

    object: Literal["list"]
    data: list[ListedTask]
    has_more: bool
    """Whether more rows follow."""


class ListedTaskOutputAsset(TypedDict):
    type: Literal["image"]
    url: str
    """A download address. It works without a header."""
    mime_type: Literal["image/png", "image/jpeg", "image/webp"]


class ListedTaskOutput(TypedDict):
    """Present while `status` is `succeeded`."""

    assets: list[ListedTaskOutputAsset]


class ListedTaskError(TypedDict):
    """Present when `status` is `failed`."""

    code: Literal["content_policy_violation", "no_image_generated", "upstream_invalid_request", "rate_limit_exceeded", "generation_timeout", "upstream_error", "cancelled"]
    message: str


class ListedTask(TypedDict):
    """The record of a task, without `result`."""

    task_id: str
    """The public identifier of a task."""
    model: str
    status: Literal["queued", "processing", "succeeded", "failed", "expired"]
    """`succeeded`, `failed` and `expired` are ends. A succeeded task becomes `expired` when its image is deleted, after 24 hours by default."""
    created_at: str
    progress: int
    """Percent. It never falls, and is 100 only after success."""
    completed_at: NotRequired[str]
    """Present when the task has ended."""
    output: NotRequired[ListedTaskOutput]
    """Present while `status` is `succeeded`."""
    error: NotRequired[ListedTaskError]
    """Present when `status` is `failed`."""


class AccountCredits(TypedDict):
    available: int
    """Can be held by new requests."""
    held: int
    """Held by requests that have not ended."""
    spent: int
    """Charged since the account exists."""


class AccountLimitsRequests(TypedDict):
    limit: int
    """So many tasks can be made at once."""
    period: Literal["second", "minute", "hour"]
    """So long takes the refill of all, one after the other."""
    remaining: int
    """So many can be made now."""


class AccountLimitsLiveTasks(TypedDict):
    limit: int
    used: int
    """Tasks that have not ended."""


class AccountLimits(TypedDict):
    """What is beyond is 429 `rate_limit_exceeded`. Null: no limit."""

    requests: AccountLimitsRequests | None
    live_tasks: AccountLimitsLiveTasks | None


class Account(TypedDict):
    """An account and its credits."""

    object: Literal["account"]
    account_id: str
    name: str
    credits: AccountCredits
    models: list[str] | None
    """The models that the account may use. Null: all."""
    limits: AccountLimits
    """What is beyond is 429 `rate_limit_exceeded`. Null: no limit."""


class ModelList(TypedDict):
    """The models that the account may use."""

    object: Literal["list"]
    data: list[Model]


class Model(TypedDict):
    """A model that the account may use, with its prices."""

    id: str
    object: Literal["model"]
    created: int
    """Unix time in seconds. The same for every model."""
    owned_by: str
    family: Literal["A", "B"]
    actions: list[Literal["generate", "edit"]]
    sizes: list[str]
    """The accepted values of `size`."""
    aspect_ratios: list[str] | None
    """The accepted values of `aspect_ratio`. Null: the model does not take the field."""
    qualities: list[str] | None
    """The accepted values of `quality`. Null: the field has no effect."""
    prices: list[Price]


class Price(TypedDict):
    """A price of a model. The first entry that matches a request counts. A field that is absent here matches any value, and a request without it."""

    size: NotRequired[str]
    quality: NotRequired[str]
    action: NotRequired[Literal["generate", "edit"]]
    credits: int
    """The credits that a request holds."""
    credits_per_input_image: int
    """Added for each source image."""


class UsageDataTasks(TypedDict):
    """The tasks that ended in the period."""

    succeeded: int
    failed: int


class UsageData(TypedDict):
    start_time: NotRequired[str]
    """The start of the day in UTC. Present when grouped by day."""
    model: NotRequired[str]
    """Present when grouped by model."""
    key_id: NotRequired[str]
    """Present when grouped by key."""
    tasks: UsageDataTasks
    """The tasks that ended in the period."""
    credits: int
    """What the succeeded tasks were charged."""


class UsageTotalTasks(TypedDict):
    """The tasks that ended in the period."""

    succeeded: int
    failed: int


class UsageTotal(TypedDict):
    tasks: UsageTotalTasks
    """The tasks that ended in the period."""
    credits: int
    """What the succeeded tasks were charged."""


class Usage(TypedDict):
    """What the tasks of an account cost in a period."""

    object: Literal["usage"]
    start_time: str
    end_time: str
    data: list[UsageData]
    total: UsageTotal


class WebhookWithSecret(TypedDict):
    """A webhook and its signing secret."""

    webhook_id: str
    """The public identifier of a webhook."""
    url: str
    """The address, as it was registered."""
    events: list[Literal["task.succeeded", "task.failed", "account.balance_low", "key.budget_reached"]]
    status: Literal["active", "disabled"]
    """A webhook is disabled when its receiver answers 410, or by the operator."""
    created_at: str
    secret: str
    """The signing secret of Standard Webhooks. No other answer contains it."""


class Webhook(TypedDict):
    """A webhook."""

    webhook_id: str
    """The public identifier of a webhook."""
    url: str
    """The address, as it was registered."""
    events: list[Literal["task.succeeded", "task.failed", "account.balance_low", "key.budget_reached"]]
    status: Literal["active", "disabled"]
    """A webhook is disabled when its receiver answers 410, or by the operator."""
    created_at: str


class WebhookDeliveryAttempt(TypedDict):
    at: str
    http_status: NotRequired[int]
    """Present when the receiver answered."""
    error: NotRequired[Literal["address_not_allowed", "name_not_resolved", "connection_failed", "tls_failed", "timeout", "answer_not_read"]]
    """Present when it did not."""


class WebhookDelivery(TypedDict):
    """One event for one webhook, with its tries."""

    delivery_id: str
    """The public identifier of a delivery, and the `webhook-id` of its tries."""
    webhook_id: str
    """The public identifier of a webhook."""
    event: Literal["task.succeeded", "task.failed", "account.balance_low", "key.budget_reached", "webhook.test"]
    task_id: NotRequired[str]
    """Absent for events that belong to no task."""
    status: Literal["pending", "delivered", "failed"]
    created_at: str
    attempts: list[WebhookDeliveryAttempt]
    """The last tries, oldest first."""
    next_attempt_at: NotRequired[str]
    """Present while pending."""


class ListTasksQuery(TypedDict):
    limit: NotRequired[int]
    """How many rows to return at most."""
    after: NotRequired[str]
    """The last id of the previous page. The list continues after it."""
    status: NotRequired[Literal["queued", "processing", "succeeded", "failed", "expired"]]
    """Only tasks with this status."""
    model: NotRequired[str]
    """Only tasks of this model."""
    action: NotRequired[Literal["generate", "edit"]]
    """Only tasks with this action."""
    created_after: NotRequired[str]
    """Only what was created at this time or later. ISO 8601 or Unix seconds."""
    created_before: NotRequired[str]
    """Only what was created before this time. ISO 8601 or Unix seconds."""


class GetUsageQuery(TypedDict):
    start_time: NotRequired[str]
    """The first instant. ISO 8601 or Unix seconds. Default: 30 days before `end_time`."""
    end_time: NotRequired[str]
    """The end, which is excluded. ISO 8601 or Unix seconds. Default: now."""
    group_by: NotRequired[str]
    """What to group the rows by: one or more of day, model, key, separated by commas."""


class ListWebhooksQuery(TypedDict):
    limit: NotRequired[int]
    """How many rows to return at most."""
    after: NotRequired[str]
    """The last id of the previous page. The list continues after it."""


class ListDeliveriesQuery(TypedDict):
    limit: NotRequired[int]
    """How many rows to return at most."""
    after: NotRequired[str]
    """The last id of the previous page. The list continues after it."""


class RegisterWebhookBody(TypedDict):
    url: str
    events: NotRequired[list[Literal["task.succeeded", "task.failed", "account.balance_low", "key.budget_reached"]]]
