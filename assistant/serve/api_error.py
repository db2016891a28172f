"""Errors as OpenAI's clients expect them."""

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.exceptions import HTTPException

from assistant.events import Failed
from models.errors import Cancelled, ContextFull, EngineDied, UsageError

JSON = {"content-type": "application/json", "cache-control": "no-store"}
LONGEST_MESSAGE = 400  # characters; the longest of our own, for an engine that died, has about 350
LONGEST_NAME = 200  # characters of a name or value that a client chose


class ApiError(Exception):
    """An error response; the text says what is wrong and what to do."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(shorten(message, LONGEST_MESSAGE))
        self.status = status
        self.code = code
        self.param = param and shorten(param)
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """Return OpenAI's error object."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        return {"error": error}

    def with_other_names(self, names: Mapping[str, str]) -> "ApiError":
        """Return the error of a field, or of a part of it, under the field's other name, if any."""
        param = self.param or ""
        if (other := names.get(re.split(r"\W", param)[0])) is None:
            return self
        return ApiError(
            self.status, str(self).replace(param, other), self.code, other, self.headers
        )


def shorten(text: str, limit: int = LONGEST_NAME) -> str:
    """Return a text with its middle cut out if it has more than `limit` characters."""
    half = (limit - 1) // 2
    return text if len(text) <= limit else f"{text[:half]}…{text[-half:]}"


def refuse(why: str, param: str) -> NoReturn:
    """Raise the error of a parameter's value."""
    raise ApiError(400, why, "invalid_value", param)


def api_error_of(error: Exception) -> ApiError:
    """Return the error response for any exception."""
    match error:
        case ApiError():
            return error
        case HTTPException(status_code=404):
            paths = "/v1/chat/completions, /v1/completions, /v1/responses, /infill and /v1/models"
            why = f"There is no such path. This server has {paths}."
            return ApiError(404, why, "not_found")
        case HTTPException(status_code=405, headers={"Allow": allowed} as headers):
            why = f"This path accepts only {allowed}."
            return ApiError(405, why, "method_not_allowed", headers=headers)
    # The next request may well succeed, and the client should learn of it.
    return ApiError(500, f"This is a bug in specchat: {type(error).__name__}.", "bug")


def from_failure(failed: Failed) -> ApiError:
    """Return the error response for a failure of the engine."""
    status, code = _STATUS.get(failed.kind, (500, "engine_failed"))
    headers = {"retry-after": "1"} if status == 503 else {}
    return ApiError(status, failed.message, code, headers=headers)


_STATUS = {
    ContextFull.__name__: (400, "context_length_exceeded"),
    UsageError.__name__: (400, "invalid_value"),
    EngineDied.__name__: (503, "engine_died"),
    Cancelled.__name__: (503, "stopping"),
    "Replaced": (499, "replaced"),  # clients ask again after 409 and 503
}
