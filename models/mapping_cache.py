"""Mappings of vocabularies on disk: to compare two vocabularies of 150,000 tokens takes a second.

A file holds 32-bit integers: the size of the target's vocabulary; for each of its tokens the
draft's id, or -1 if it has none; then what the draft reads for each, as the ends of parts of a list
of the draft's ids, and that list. A file that is not sound is made again.
"""

from array import array
from contextlib import suppress
from hashlib import sha256
from itertools import accumulate, chain, pairwise
from pathlib import Path

from models.errors import ModelError
from models.files.disk import open_regular, write_private
from models.gguf import read_vocabulary
from models.gguf.header import Header
from models.mapping import SharedTokens, shared_tokens

FOLDER = "mappings"
MOST_FILES = 16
"""The oldest leave beyond them; one has about two megabytes."""
VERSION = 1  # of the format and of the rules by which tokens are the same


def cached_mapping(target: Header, draft: Header, folder: Path | None) -> SharedTokens:
    """Return `shared_tokens` of two files' vocabularies, from `folder` if it was stored there.

    Raises:
        ModelError: the draft lacks too many of the target's tokens, or a file cannot be read.
    """
    path = folder and folder / FOLDER / _name(target, draft)
    if path and (known := _read(path, draft.n_vocab or 0)):
        return known
    shared, size, spell = shared_tokens(read_vocabulary(target.path), read_vocabulary(draft.path))
    if path and spell:
        spelled = [(shared[token],) if token in shared else spell(token) for token in range(size)]
        ends = accumulate(map(len, spelled))
        drafts = (shared.get(token, -1) for token in range(size))
        with suppress(OSError):  # it is made again
            content = array("i", chain([size], drafts, ends, chain.from_iterable(spelled)))
            write_private(path, content.tobytes())
            _remove_oldest(path.parent)
    return shared, size, spell


def _read(path: Path, n_draft: int) -> SharedTokens | None:
    numbers = array("i")
    try:
        with open_regular(path) as file:
            numbers.frombytes(file.read())
    except (OSError, ValueError):
        return None
    size = numbers[0] if numbers else 0
    drafts, ends = numbers[1 : size + 1], numbers[size + 1 : 2 * size + 1]
    ids = numbers[2 * size + 1 :]
    is_whole = len(ends) == size > 0 and ends[-1] == len(ids) > 0
    if not (is_whole and min(ids) >= 0 and max(max(ids), max(drafts)) < n_draft):
        return None
    if any(before > after for before, after in pairwise(chain([0], ends))):
        return None
    shared = {token: draft for token, draft in enumerate(drafts) if draft >= 0}
    return shared, size, lambda token: tuple(ids[ends[token - 1] if token else 0 : ends[token]])


def _name(target: Header, draft: Header) -> str:
    """Return the name of a pair's file, by size and time of both.

    Raises:
        ModelError: one of them is gone.
    """
    try:
        files = [
            (path.stat().st_size, path.stat().st_mtime_ns) for path in (target.path, draft.path)
        ]
    except OSError as error:
        raise ModelError(f"{error.filename} cannot be read: {error.strerror}.") from error
    return sha256(f"{VERSION} {files}".encode()).hexdigest()[:32]


def _remove_oldest(folder: Path) -> None:
    by_age = sorted(folder.iterdir(), key=lambda path: -path.stat().st_mtime_ns)
    for path in by_age[MOST_FILES:]:
        path.unlink(missing_ok=True)
