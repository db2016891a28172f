"""What is refused, as OpenAI's clients expect to be told."""

from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.exceptions import HTTPException

from assistant.events import Failed
from models.errors import Cancelled, ContextFull, EngineDied, UsageError

JSON = {"content-type": "application/json", "cache-control": "no-store"}


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


def refuse(why: str, param: str) -> NoReturn:
    """Refuse the value of a parameter.

    Raises:
        Refusal: always.
    """
    raise Refusal(400, why, "invalid_value", param)


def refusal_of(error: Exception) -> Refusal:
    """Return what a client is told of an error, whatever it is."""
    match error:
        case Refusal():
            return error
        case HTTPException(status_code=404):
            why = "This server has only /v1/chat/completions and /v1/models."
            return Refusal(404, why, "not_found")
        case HTTPException(status_code=405, headers={"Allow": allowed} as headers):
            why = f"This path accepts only {allowed}."
            return Refusal(405, why, "method_not_allowed", headers=headers)
        case HTTPException(status_code=status, detail=why, headers=headers):
            return Refusal(status, f"{why}.", why.lower().replace(" ", "_"), headers=headers)
    # The next request may well succeed, and whoever asked should hear of it.
    return Refusal(500, f"This is a bug in specchat: {type(error).__name__}.", "bug")


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
