"""A model file on this machine: its path, its name and its header.

Headers are cached: reading the tokens of a vocabulary takes a fifth of a second.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from models import gguf
from models.errors import ModelError
from models.files.disk import JsonFile
from models.files.gguf_files import is_helper, parts_of
from models.files.layout import named_sha256
from models.files.places import cache_dir
from models.gguf import Header

if TYPE_CHECKING:  # the worker knows no catalogue
    from models.catalog import GGUF

VERSION = 7  # version of `Header` and of its checks: records of other versions are not used
CACHED_FROM = 16 << 20
"""Bytes of a file from which on its header is cached; a shorter one is read every time."""


@dataclass(frozen=True)
class ModelFile:
    """A model file, used in place. Its header is read when it is first asked for."""

    path: Path
    name: str  # its name in its store
    reference: str  # what to call it on the command line
    store: str  # the program that stores it, or "file"
    gguf: GGUF | None = None  # its entry in the catalogue

    @cached_property
    def size(self) -> int:
        """The bytes of all its parts that are here; an `OSError` if it was deleted meanwhile."""
        parts = parts_of(self.path) or [self.path]
        return sum(part.stat().st_size for part in parts if os.path.isfile(part))

    @property
    def header(self) -> Header | None:
        """Its header; None if the file cannot be used at all."""
        return self._outcome if isinstance(self._outcome, Header) else None

    @property
    def weights(self) -> str:
        """How most of its weights are quantised; "?" if it does not say."""
        return (self.header and self.header.file_type) or "?"

    @property
    def unreadable_reason(self) -> str | None:
        """Why it cannot be used at all, if it cannot: a part of a sentence."""
        return self._outcome if isinstance(self._outcome, str) else None

    @property
    def is_helper(self) -> bool:
        """Whether it only belongs to another model: by its header, or its name if it has none."""
        return bool(self.header.helper) if self.header else is_helper(self.path.name)

    @property
    def unusable_reason(self) -> str | None:
        """Why it cannot hold a conversation, if it cannot."""
        return self.unreadable_reason or (self.header.unusable_reason if self.header else None)

    @property
    def promised_sha256(self) -> str | None:
        """The checksum that the catalogue or its name in the hub's cache promises."""
        return (self.gguf and self.gguf.sha256) or named_sha256(self.path)

    @cached_property
    def _outcome(self) -> Header | str:
        real = self.path.resolve()
        try:
            return missing_parts(self.path) or read_header(real)
        except ModelError as error:
            return str(error).removeprefix(f"{real} ").removeprefix("is ")


def missing_parts(path: Path) -> str | None:
    """Return which parts of a split model are not beside the first one, as a sentence; or None."""
    parts = parts_of(path)
    missing = [part.name for part in parts if not os.path.isfile(part)]
    lacks = f"it lacks {len(missing)} of its {len(parts)} parts"
    return f"{lacks}, first {missing[0]}." if missing else None


def whole_header(path: Path) -> Header:
    """Return the header of a file, all parts of which are here; a `ModelError` says what is not."""
    if missing := missing_parts(path):
        raise ModelError(f"{path} is incomplete: {missing} Fetch it whole.")
    return read_header(path)


def chat_header(path: Path) -> Header:
    """Return the header of a file that can hold a conversation; a `ModelError` says why not."""
    if not (header := whole_header(path)).unusable_reason:
        return header
    advice = "Name the model itself." if header.helper else "Choose another: specchat models list"
    raise ModelError(f"{path} is {header.unusable_reason}. {advice}")


def read_header(path: Path) -> Header:
    """Return a file's header, as it was read before if the file has not changed since."""
    try:
        real = path.resolve()
        status = real.stat()
    except (OSError, RuntimeError, ValueError):
        return gguf.read(path)  # it says what is wrong
    if status.st_size < CACHED_FROM:
        return gguf.read(path)
    file = b"%d %d %d " % (VERSION, status.st_size, status.st_mtime_ns)
    name = f"{sha256(file + bytes(real)).hexdigest()[:32]}.json"
    record = JsonFile(cache_dir() / "headers" / name, Header)
    if known := record.read():
        return replace(known, path=path)
    header = gguf.read(path)
    with suppress(OSError, ValueError):  # without a record it is read again
        record.write(replace(header, path=Path()))
    return header
