"""What is refused, as OpenAI's clients expect to be told."""

from collections.abc import Mapping
from typing import Any

from assistant.events import Failed
from models.errors import Cancelled, ContextFull, EngineDied, UsageError


class Refusal(Exception):
    """A request that gets no answer; the text says why and what to do."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """Return OpenAI's error object."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        return {"error": error}


def from_failure(failed: Failed) -> Refusal:
    """Return what a client is told when the engine could not answer."""
    status, code = _STATUS.get(failed.kind, (500, "engine_failed"))
    return Refusal(
        status, failed.message, code, headers={"retry-after": "1"} if status == 503 else {}
    )


_STATUS = {
    ContextFull.__name__: (400, "context_length_exceeded"),
    UsageError.__name__: (400, "invalid_value"),
    EngineDied.__name__: (503, "engine_died"),
    Cancelled.__name__: (503, "stopping"),
}
