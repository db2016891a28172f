"""What a hub repository offers for this machine: its files, its terms, and which file suits. The
server is not trusted: time and size are limited.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import httpx2
import msgspec
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # is public

from models import memory
from models.cancel import CancelFlag
from models.catalog import GGUF
from models.errors import ModelError, ModelMissing, NetworkError, UsageError
from models.files import hub
from models.files.gguf_files import labelled
from models.files.progress import Progress, Report, stop_if_asked
from models.memory import Fit

MAX_ANSWER_BYTES = 1 << 25
"""Bytes of the longest answer; a repository of ten thousand files takes a tenth of that."""
ANSWER_TIMEOUT_S = 30.0
"""Seconds for all of it."""
_MAX_LICENCE = 80
_REPO = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w.-]+))?")
ORDER = (
    *("Q4_K_M", "Q4_K_S", "Q4_0", "Q4_1", "IQ4_NL", "IQ4_XS", "MXFP4", "Q5_K_M", "Q5_K_S", "Q5_0"),
    *("Q6_K", "Q8_0", "Q3_K_L", "Q3_K_M", "IQ3_M", "Q3_K_S", "Q2_K"),
)
"""The quantisations that are chosen, best first: small and nearly as good as the original."""


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

    files: Mapping[str, int]  # bytes by name; 0 if the hub does not say
    licence: str | None
    gated: bool  # only for those who accept its terms


def describe(gguf: GGUF, repo: str, cancel: CancelFlag | None) -> Repository:
    """Ask the hub what a repository holds, at the revision of a file.

    Raises:
        NetworkError: the hub cannot be reached, refuses, or sends an invalid answer.
    """
    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        raise UsageError(f"{repo} is not a valid repository name.") from error
    revision = f"/revision/{quote(gguf.revision, safe='')}" if gguf.revision else ""
    url = f"{hub.endpoint()}/api/models/{repo}{revision}?blobs=true"
    try:
        return _repository(hub.patiently(lambda: _ask(url, gguf, cancel), cancel))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise NetworkError(f"{hub.endpoint()} does not answer like the hub.") from error


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
                    raise NetworkError(f"{hub.endpoint()} does not finish its answer.")
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


@dataclass(frozen=True, slots=True)
class Offer:
    """The file of a repository that suits this machine."""

    reference: str  # what to pull
    label: str
    size: int
    fit: Fit
    among: int  # how many quantisations there were to choose from
    licence: str | None
    gated: bool

    @property
    def sentence(self) -> str:
        """Return what the user should know before the download."""
        terms = self.licence or "none given"
        gate = ", and its terms must be accepted" if self.gated else ""
        return (
            f"{self.label}, of {self.among} quantisations: {_gb(self.size)} to download, about "
            f"{_gb(self.fit.needed)} of memory, and {_gb(self.fit.available)} is free. "
            f"Licence: {terms}{gate}."
        )


def is_repository(reference: str) -> bool:
    """Say whether a reference names a repository, not a file in it or on this machine."""
    return (
        _REPO.fullmatch(reference) is not None
        and not reference.lower().endswith(".gguf")
        and not Path(reference).exists()
    )


def offer(repo: str, report: Report, *, offline: bool = False) -> Offer:
    """Ask the hub what a repository has, and choose what fits into memory.

    Raises:
        NetworkError: the hub cannot or may not be asked, or its terms must be accepted first.
        ModelMissing: it has no model in one file with a quantisation in its name.
        ModelError: none fits.
    """
    match = _REPO.fullmatch(repo)
    if match is None:
        raise UsageError(f"{repo} is not a valid repository name.")
    if hub.forbidden(offline):
        raise NetworkError(
            f"Only the hub can list the files of {repo}, but --offline or HF_HUB_OFFLINE is set."
        )
    name, revision = match.groups()
    report(Progress(0, 0, "asking the hub"))
    wanted = GGUF(name, name, "GGUF file", revision, 0, None, "")
    found = describe(wanted, name, None)
    licence, sizes = found.licence, found.files
    if found.gated and hub.token() is None:
        raise NetworkError(
            f"{name} is given only to those who accept its terms (licence: "
            f"{licence or 'not named'}). Accept them on its page, then set HF_TOKEN to your token."
        )
    there = labelled(sizes)
    if not there:
        raise ModelMissing(f"{name} has no complete GGUF file with a quantisation in its name.")
    file, fit = _choose(repo, there, sizes)
    return Offer(
        f"{repo}:{file}",
        there[file],
        sizes[file],
        fit,
        len(set(there.values())),
        licence,
        found.gated,
    )


def _choose(repo: str, there: Mapping[str, str], sizes: Mapping[str, int]) -> tuple[str, Fit]:
    fits = {file: memory.fit(memory.estimate_by_size(sizes[file], file)) for file in there}
    fitting = [file for file, fit in fits.items() if fit.verdict != "too large"]
    if not fitting:
        least = min(there, key=lambda file: sizes[file])
        raise ModelError(
            f"Nothing of {repo} fits: the smallest, {there[least]}, takes about "
            f"{_gb(fits[least].needed)} of memory, and {_gb(fits[least].available)} is free. "
            f"To fetch it anyway: specchat models pull {repo}:{there[least]}"
        )
    chosen = min(fitting, key=lambda file: (_rank(there[file]), sizes[file], file))
    return chosen, fits[chosen]


def _rank(label: str) -> int:
    return ORDER.index(label) if label in ORDER else len(ORDER)


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
