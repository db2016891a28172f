"""Fetch a model from the Hugging Face hub, over plain HTTP and resumable.

huggingface_hub knows the addresses, the headers and the proxies; the transfer is our own, because
its transfer neither resumes another process's download nor compares the sha256.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TypeVar

import httpx2  # the client that huggingface_hub provides
from huggingface_hub import constants, get_hf_file_metadata, get_session, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from models.cancel import CancelFlag
from models.catalog import GGUF
from models.errors import NetworkError, UsageError
from models.files.partial import Journal, Partial
from models.files.progress import Progress, Report, stop_if_asked

T = TypeVar("T")
CONNECT_S = 5.0  # short, so a missing network is noticed soon
SILENCE_S = 20.0  # a connection that is silent for this long is cut
WAITS_S = (0.5, 1.0, 2.0, 4.0)  # before each new attempt after one without progress
_MAX_WAIT_S = 30.0
_MAX_CUTS = 100  # of a download, whatever each attempt brings
_TRUE = {"1", "ON", "YES", "TRUE"}


@dataclass(frozen=True, slots=True)
class Remote:
    """A file as the hub describes it."""

    url: str
    etag: str  # the sha256 of what is kept in large-file storage, as every GGUF is
    size: int
    commit: str


class Transient(Exception):
    """A temporary failure: the text says what it is, `wait` how long the server asks us to wait."""

    def __init__(self, text: str, wait: float | None = None) -> None:
        super().__init__(text)
        self.wait = wait


def unreachable(error: Exception) -> NetworkError:
    """Return the message for a missing answer."""
    reason = str(error) or type(error).__name__
    return NetworkError(
        f"The hub ({endpoint()}) cannot be reached: {reason}. Is this machine online?"
    )


def forbidden(offline: bool) -> bool:
    """Say whether an option or a variable forbids connections."""
    return offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in _TRUE


def describe(gguf: GGUF, repo: str, cancel: CancelFlag | None) -> Remote:
    """Ask the hub for the size, the checksum and the commit of a file."""
    try:
        url = hf_hub_url(repo, gguf.file, revision=gguf.revision, endpoint=endpoint())
    except (HFValidationError, ValueError) as error:
        raise UsageError(f"{repo} is not a valid repository name.") from error
    return patiently(lambda: _describe(url, gguf), cancel)


def _describe(url: str, gguf: GGUF) -> Remote:
    try:
        found = get_hf_file_metadata(url, token=token() or False, timeout=CONNECT_S)
    except HfHubHTTPError as error:
        raise refusal(error.response.status_code, error.response.headers, gguf) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise unreachable(error) from error
    commit, etag = found.commit_hash or "", found.etag or ""
    if not re.fullmatch(r"[0-9a-f]{40}", commit) or not re.fullmatch(r"[0-9A-Za-z-]{8,128}", etag):
        raise NetworkError(
            f"{endpoint()} does not answer like the hub; check HF_ENDPOINT, and whether "
            "this network asks you to log in."
        )
    if not found.size or found.size < 0:
        raise NetworkError(f"{endpoint()} does not say how large {gguf.file} is.")
    return Remote(url, etag, found.size, commit)


def refusal(status: int, headers: httpx2.Headers, gguf: GGUF) -> NetworkError | Transient:
    """Return one sentence for an HTTP status."""
    if status in (401, 403):
        return NetworkError(
            f"{gguf.repo} does not exist on the hub, or its terms must be accepted first. Accept "
            "them on its page, then set HF_TOKEN to your token."
        )
    if status == 404:
        revision = gguf.revision or "main"
        return NetworkError(f"The hub has no {gguf.file} in {gguf.repo} (revision {revision}).")
    if status == 429:
        return Transient("The hub is limiting requests (HTTP 429).", _retry_after(headers))
    if status >= 500:
        return Transient(f"The hub has a problem (HTTP {status}).", _retry_after(headers))
    return NetworkError(f"The hub refused {gguf.file} (HTTP {status}).")


def patiently(attempt: Callable[[], T], cancel: CancelFlag | None) -> T:
    """Try, and retry a few times after temporary failures."""
    for wait in WAITS_S[:2]:
        try:
            return attempt()
        except Transient as error:
            pause(wait if error.wait is None else error.wait, cancel)
    try:
        return attempt()
    except Transient as error:
        raise NetworkError(f"{error} Try again later.") from error


def stream(url: str, **headers: str) -> AbstractContextManager[httpx2.Response]:
    """Ask for uncompressed bytes; the session sends the token to no other origin."""
    headers |= {"User-Agent": "specchat", "Accept-Encoding": "identity"}
    if secret := token():
        headers["Authorization"] = f"Bearer {secret}"
    timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
    return get_session().stream("GET", url, headers=headers, timeout=timeout)


def fetch(
    gguf: GGUF, remote: Remote, partial: Partial, report: Report, cancel: CancelFlag | None
) -> None:
    """Append what is missing; give up after a few attempts without progress."""
    idle = cuts = 0
    while partial.size != remote.size:
        before = partial.size
        try:
            _attempt(gguf, remote, partial, report, cancel)
        except Transient as error:
            idle, cuts = (0 if partial.size > before else idle + 1), cuts + 1
            if idle > len(WAITS_S) or cuts > _MAX_CUTS:
                raise NetworkError(f"{error} The downloaded part is kept; pull again.") from error
            wait = WAITS_S[max(idle - 1, 0)]
            pause(wait if error.wait is None else error.wait, cancel)


def _attempt(
    gguf: GGUF, remote: Remote, partial: Partial, report: Report, cancel: CancelFlag | None
) -> None:
    with _response(remote, partial) as response:
        if response.status_code >= 400 and response.status_code != 416:
            raise refusal(response.status_code, response.headers, gguf)
        begin = _begin(response, partial, remote)
        with partial.open_at(begin) as out:
            # The ends of a mirror's parts mean nothing once the hub's bytes follow.
            partial.note(Journal(response.headers.get("ETag")))
            for chunk in response.iter_raw() if begin < remote.size else ():
                stop_if_asked(cancel)
                if out.tell() == 0 and not chunk.startswith(b"GGUF"):
                    raise NetworkError("The hub sent something that is not a GGUF file.")
                if out.tell() + len(chunk) > remote.size:
                    raise NetworkError(
                        f"The hub sent more than the {remote.size} bytes it announced."
                    )
                out.write(chunk)
                out.flush()  # what is reported has survived a kill
                report(Progress(out.tell(), remote.size, "from the hub"))
    if begin < remote.size != partial.size:
        raise Transient("The connection to the hub was cut.")


@contextmanager
def _response(remote: Remote, partial: Partial) -> Iterator[httpx2.Response]:
    headers = {}
    if have := min(partial.size, remote.size):
        headers["Range"] = f"bytes={have}-"
        etag = partial.journal.etag
        if etag and not etag.startswith("W/"):
            headers["If-Range"] = etag
    try:
        with stream(remote.url, **headers) as response:
            yield response
    except httpx2.TimeoutException as error:
        raise Transient("The connection to the hub stalled.") from error
    except httpx2.HTTPError as error:
        raise Transient(f"The connection to the hub was cut ({type(error).__name__}).") from error


def _begin(response: httpx2.Response, partial: Partial, remote: Remote) -> int:
    """Return the offset of the bytes that follow."""
    if "html" in response.headers.get("Content-Type", ""):
        raise NetworkError(
            "A web page came instead of the model; does this network ask you to log in?"
        )
    if response.status_code == 206:
        sent = re.fullmatch(
            r"bytes (\d{1,18})-\d+/(\d{1,18})", response.headers.get("Content-Range", "")
        )
        if sent and (int(sent[1]), int(sent[2])) == (partial.size, remote.size):
            return partial.size
    if response.status_code in (206, 416):  # not the requested range: start again
        partial.remove()
        raise Transient("The hub cannot resume the download.")
    return 0


def pause(seconds: float, cancel: CancelFlag | None) -> None:
    """Sleep unless cancelled; do not wait for a server that asks for minutes."""
    if seconds > _MAX_WAIT_S:
        raise NetworkError(f"The hub asks you to wait {seconds:.0f} seconds. Pull again then.")
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        stop_if_asked(cancel)
        time.sleep(min(left, 0.1))


def _retry_after(headers: httpx2.Headers) -> float | None:
    value = headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None


def endpoint() -> str:
    """Return the address of the hub."""
    return os.environ.get("HF_ENDPOINT", constants.ENDPOINT).rstrip("/")


def token() -> str | None:
    """Return the token that was set for this hub; it is never sent unencrypted."""
    return os.environ.get("HF_TOKEN") or None if endpoint().startswith("https://") else None
