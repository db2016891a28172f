"""The Hugging Face hub, through huggingface_hub: what a repository holds, and its files."""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx2  # the client that huggingface_hub talks through: its errors are caught
from huggingface_hub import HfApi, constants, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # documented there

from models.catalog import GGUF
from models.errors import NetworkError, UsageError
from models.progress import Progress, Report

CONNECT_S = 5.0  # short, so a missing network is noticed soon
# Bytes are reported and written as they arrive, not in tens of megabytes: only then is a cancel
# obeyed, and only what was written is kept. httpx2 takes None, which the constant's type lacks.
constants.DOWNLOAD_CHUNK_SIZE = None  # type: ignore[assignment]
# It would log repeated attempts on the terminal.
logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)


def describe(repo: str, revision: str | None) -> dict[str, GGUF]:
    """Ask the hub for the files of a repository by their names; revision None is its main branch.

    The size is 0 and the checksum None if the hub has none.
    """
    try:
        with _errors(repo):
            api = HfApi(endpoint=endpoint(), token=token() or False)
            info = api.model_info(repo, revision=revision, files_metadata=True, timeout=CONNECT_S)
            return _files(repo, info)
    except HFValidationError as error:
        raise UsageError(f"{repo} is not a valid repository name.") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise NetworkError(
            f"{endpoint()} does not answer like the hub; check HF_ENDPOINT, and whether this "
            "network asks you to log in."
        ) from error


def _files(repo: str, info: Any) -> dict[str, GGUF]:
    if not re.fullmatch(r"[0-9a-f]{40}", info.sha):
        raise ValueError("this is no commit")
    files = {}
    for file in info.siblings:
        name, size = str(file.rfilename), int(file.size or 0)
        sha256 = re.fullmatch(r"[0-9a-f]{64}", file.lfs.sha256) if file.lfs else None
        if size < 0:
            raise ValueError("this is no size")
        files[name] = GGUF(f"{repo}:{name}", repo, name, info.sha, size, sha256 and sha256[0])
    return files


def fetch(gguf: GGUF, part: Path, report: Report) -> None:
    """Download the rest of a file that `describe` returned; the part is kept if that fails."""

    class Bar(nullcontext["Bar"]):
        """Receives huggingface_hub's progress instead of a tqdm."""

        def __init__(self, *, initial: int = 0, **_: object) -> None:
            super().__init__(self)
            self._done = initial

        def update(self, count: int) -> None:
            self._done += count
            report(Progress(min(self._done, gguf.size), gguf.size, "from the hub"))

    assert gguf.repo
    if gguf.size > constants.MAX_HTTP_DOWNLOAD_SIZE:  # http_get's own error is not readable
        raise NetworkError(
            f"{gguf.file} is larger than the hub sends over HTTP. Fetch it with the hub's own "
            f"program: hf download {gguf.repo} {gguf.file}"
        )
    url = hf_hub_url(gguf.repo, gguf.file, revision=gguf.revision, endpoint=endpoint())
    headers = build_hf_headers(token=token() or False, library_name="specchat")
    with _errors(gguf.repo), part.open("ab") as file:
        done = file.tell()
        http_get(
            url, file, resume_size=done, headers=headers, expected_size=gguf.size, tqdm_class=Bar
        )


@contextmanager
def _errors(repo: str) -> Iterator[None]:
    try:
        yield
    except HfHubHTTPError as error:
        raise NetworkError(_http_error(repo, error.response.status_code)) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        reason = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
        raise NetworkError(
            f"The hub ({endpoint()}) cannot be reached: {reason}. Is this machine online? What was "
            "downloaded is kept; pull again."
        ) from error
    except OSError as error:
        if error.errno is not None:  # of the disk, not of the hub
            raise
        raise NetworkError("The hub sent more or less than it announced; pull again.") from error


def _http_error(repo: str, status: int) -> str:
    if status in (401, 403):
        return (
            f"{repo} does not exist on the hub, or its terms must be accepted first. Accept them "
            "on its page, then set HF_TOKEN to your token."
        )
    if status == 404:
        return f"The hub has no such repository, revision or file: {repo}."
    if status == 429:
        return "The hub is limiting requests (HTTP 429). Pull again later."
    if status >= 500:
        return f"The hub has a problem (HTTP {status}). Pull again later."
    return f"The hub refused {repo} (HTTP {status})."


def endpoint() -> str:
    """Return the address of the hub."""
    return os.environ.get("HF_ENDPOINT", constants.ENDPOINT).rstrip("/")


def token() -> str | None:
    """Return the token that was set for this hub; it is never sent unencrypted."""
    return os.environ.get("HF_TOKEN") or None if endpoint().startswith("https://") else None
