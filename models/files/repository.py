"""What the hub says of a repository. It may be anybody who answers: time and size are bounded."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2
from huggingface_hub import get_session
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # is public

from models.cancel import CancelFlag
from models.catalog import GGUF
from models.errors import NetworkError, UsageError
from models.files import hub
from models.files.hub import Transient
from models.files.progress import stop_if_asked

MOST = 1 << 25
"""Bytes of the longest answer; a repository of ten thousand files takes a tenth of that."""
ANSWER_S = 30.0
"""Seconds for all of it."""
_LONGEST_LICENCE = 80


@dataclass(frozen=True, slots=True)
class Repository:
    """The files of a repository, and its terms."""

    files: Mapping[str, int]  # bytes by name; 0 where the hub does not tell
    licence: str | None
    gated: bool  # only for those who agreed to its terms


def describe(gguf: GGUF, repo: str, cancel: CancelFlag | None) -> Repository:
    """Ask the hub what a repository holds, at the revision of a file.

    Raises:
        NetworkError: the hub cannot be asked, refuses, or says what makes no sense.
    """
    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        raise UsageError(f"{repo} cannot be the name of a repository.") from error
    revision = f"/revision/{quote(gguf.revision, safe='')}" if gguf.revision else ""
    url = f"{hub.endpoint()}/api/models/{repo}{revision}?blobs=true"
    try:
        answer = hub.patiently(lambda: _ask(url, gguf, cancel), cancel)
        return _repository(json.loads(answer))
    except Transient as error:
        raise NetworkError(f"{error} Try again later.") from error
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise NetworkError(f"{hub.endpoint()} does not answer as the hub does.") from error


def _ask(url: str, gguf: GGUF, cancel: CancelFlag | None) -> bytes:
    headers = {"User-Agent": "specchat", "Accept-Encoding": "identity"}
    if token := hub.token():
        headers["Authorization"] = f"Bearer {token}"
    timeout = httpx2.Timeout(hub.SILENCE_S, connect=hub.CONNECT_S)
    answer, until = bytearray(), time.monotonic() + ANSWER_S
    try:
        with get_session().stream("GET", url, headers=headers, timeout=timeout) as response:
            if response.status_code >= 300:
                raise hub.refusal(response.status_code, response.headers, gguf)
            for chunk in response.iter_raw():
                stop_if_asked(cancel)
                answer += chunk
                if len(answer) > MOST or time.monotonic() > until:
                    raise NetworkError(f"{hub.endpoint()} does not come to the end of its answer.")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise hub.unreachable(error) from error
    return bytes(answer)


def _repository(answer: Any) -> Repository:
    files = {_text(each["rfilename"]): _size(each.get("size")) for each in answer["siblings"]}
    named = (answer.get("cardData") or {}).get("license")
    tags = [_text(tag) for tag in answer.get("tags") or ()]
    tagged = [tag.removeprefix("license:") for tag in tags if tag.startswith("license:")]
    licence = named if isinstance(named, str) else next(iter(tagged), None)
    return Repository(
        files, licence and licence[:_LONGEST_LICENCE], bool(answer.get("gated", False))
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _size(value: Any) -> int:
    if not isinstance(value, int | None) or not 0 <= (value or 0) < 1 << 60:
        raise TypeError(value)
    return value or 0
