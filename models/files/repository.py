"""What the hub says of a repository. It may be anybody who answers: time and size are bounded."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

import httpx2
import msgspec
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # is public

from models.cancel import CancelFlag
from models.catalog import GGUF
from models.errors import NetworkError, UsageError
from models.files import hub
from models.files.progress import stop_if_asked

MAX_ANSWER_BYTES = 1 << 25
"""Bytes of the longest answer; a repository of ten thousand files takes a tenth of that."""
ANSWER_TIMEOUT_S = 30.0
"""Seconds for all of it."""
_MAX_LICENCE = 80


class _File(msgspec.Struct):
    rfilename: str
    size: Annotated[int, msgspec.Meta(ge=0, lt=1 << 60)] | None = None


class _Answer(msgspec.Struct):
    siblings: list[_File]
    cardData: dict[str, Any] | None = None
    tags: list[str] | None = None
    gated: Any = False  # who grants access, if somebody must


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
        return _repository(hub.patiently(lambda: _ask(url, gguf, cancel), cancel))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise NetworkError(f"{hub.endpoint()} does not answer as the hub does.") from error


def _ask(url: str, gguf: GGUF, cancel: CancelFlag | None) -> bytes:
    answer, until = bytearray(), time.monotonic() + ANSWER_TIMEOUT_S
    try:
        with hub.stream(url) as response:
            if response.status_code >= 300:
                raise hub.refusal(response.status_code, response.headers, gguf)
            for chunk in response.iter_raw():
                stop_if_asked(cancel)
                answer += chunk
                if len(answer) > MAX_ANSWER_BYTES or time.monotonic() > until:
                    raise NetworkError(f"{hub.endpoint()} does not come to the end of its answer.")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise hub.unreachable(error) from error
    return bytes(answer)


def _repository(answer: bytes) -> Repository:
    said = msgspec.json.decode(answer, type=_Answer)
    tagged = (tag.removeprefix("license:") for tag in said.tags or () if tag.startswith("license:"))
    named = (said.cardData or {}).get("license")
    licence = named if isinstance(named, str) else next(tagged, None)
    files = {each.rfilename: each.size or 0 for each in said.siblings}
    return Repository(files, licence and licence[:_MAX_LICENCE], bool(said.gated))
