"""The bytes of a file on the hub, taken up where an earlier attempt was cut."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from models.cancel import CancelFlag
from models.catalog import GGUF
from models.errors import NetworkError
from models.files import hub
from models.files.hub import Remote, Transient
from models.files.partial import Journal, Partial
from models.files.progress import Progress, Report, stop_if_asked

_MAX_CUTS = 100  # however much each attempt brings


def fetch(
    gguf: GGUF, remote: Remote, partial: Partial, report: Report, cancel: CancelFlag | None
) -> None:
    """Append what is missing; gives up after a few attempts that bring nothing."""
    idle = cuts = 0
    while partial.size != remote.size:
        before = partial.size
        try:
            _attempt(gguf, remote, partial, report, cancel)
        except Transient as error:
            idle, cuts = (0 if partial.size > before else idle + 1), cuts + 1
            if idle > len(hub.WAITS_S) or cuts > _MAX_CUTS:
                raise NetworkError(f"{error} What arrived is kept; pull again.") from error
            wait = hub.WAITS_S[max(idle - 1, 0)]
            hub.pause(wait if error.wait is None else error.wait, cancel)


def _attempt(
    gguf: GGUF, remote: Remote, partial: Partial, report: Report, cancel: CancelFlag | None
) -> None:
    with _response(remote, partial) as response:
        if response.status_code >= 400 and response.status_code != 416:
            raise hub.refusal(response.status_code, response.headers, gguf)
        begin = _begin(response, partial, remote)
        with partial.open_at(begin) as out:
            # The ends of a mirror's parts mean nothing once the hub's bytes follow.
            partial.note(Journal(response.headers.get("ETag")))
            for chunk in response.iter_raw() if begin < remote.size else ():
                stop_if_asked(cancel)
                if out.tell() == 0 and not chunk.startswith(b"GGUF"):
                    raise NetworkError("The hub sent something that is not a GGUF file.")
                if out.tell() + len(chunk) > remote.size:
                    raise NetworkError(f"The hub sent more than the {remote.size} bytes it named.")
                out.write(chunk)
                out.flush()  # what is reported survives a kill
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
        with hub.stream(remote.url, **headers) as response:
            yield response
    except httpx2.TimeoutException as error:
        raise Transient("The connection to the hub stalled.") from error
    except httpx2.HTTPError as error:
        raise Transient(f"The connection to the hub was cut ({type(error).__name__}).") from error


def _begin(response: httpx2.Response, partial: Partial, remote: Remote) -> int:
    """Return where the bytes that follow belong."""
    if "html" in response.headers.get("Content-Type", ""):
        raise NetworkError(
            "A web page came instead of the model; a login page of the network would explain it."
        )
    if response.status_code == 206:
        sent = re.fullmatch(
            r"bytes (\d{1,18})-\d+/(\d{1,18})", response.headers.get("Content-Range", "")
        )
        if sent and (int(sent[1]), int(sent[2])) == (partial.size, remote.size):
            return partial.size
    if response.status_code in (206, 416):  # not the range that was asked for: begin anew
        partial.remove()
        raise Transient("The hub does not continue the download.")
    return 0
