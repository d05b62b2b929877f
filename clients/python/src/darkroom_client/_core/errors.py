from __future__ import annotations


class DarkroomError(Exception):
    """Every error of this client, except wrong types.

    `status` is the HTTP status: None when no answer came, when a task failed and when nothing was sent. `code` is the code
    of the API or of a failed task, or one of this client: `timeout`, `no_answer`, `connection_failed`, `answer_not_read`,
    `redirected`, `invalid_value`, `invalid_signature`. `param` names the field that is wrong, `request_id` the request in
    the logs of the service. `idempotency_key` is there while the outcome is unknown: a call with this key buys nothing
    twice. It is None when nothing was bought, or when the task has failed.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        param: str | None = None,
        request_id: str | None = None,
        task_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.param = param
        self.request_id = request_id
        self.task_id = task_id
        self.idempotency_key = idempotency_key


def wrong_value(param: str, problem: str) -> DarkroomError:
    """What the API would refuse, or could not even be asked for."""
    return DarkroomError(f"{param} {problem}.", code="invalid_value", param=param)
