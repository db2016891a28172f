"""A model file on this machine: where it is, what it is called, and what its header says."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from models.catalog import GGUF
from models.errors import ModelError
from models.files import headers
from models.files.gguf_files import parts_of
from models.gguf import Header


@dataclass(frozen=True)
class ModelFile:
    """A model file, used in place. Its header is read when it is first asked for."""

    path: Path
    name: str
    """Its name in its store."""
    reference: str
    """What to call it on the command line."""
    store: str
    """The program that keeps it, or "file"."""
    gguf: GGUF | None = None
    """Its entry in the catalogue."""

    @cached_property
    def size(self) -> int:
        """The bytes of all its parts that are here.

        Raises:
            OSError: it was deleted meanwhile.
        """
        return sum(part.stat().st_size for part in self._parts if os.path.isfile(part))

    @property
    def header(self) -> Header | None:
        """What its header says; None if it cannot be used at all."""
        return self._outcome if isinstance(self._outcome, Header) else None

    @property
    def problem(self) -> str | None:
        """Why it cannot be used at all, if it cannot: a part of a sentence."""
        return self._outcome if isinstance(self._outcome, str) else None

    @property
    def refusal(self) -> str | None:
        """Why it cannot hold a conversation, if it cannot."""
        return self.problem or (self.header.flaw if self.header else None)

    @property
    def is_whole(self) -> bool:
        """Whether all its parts exist."""
        return all(map(os.path.isfile, self._parts))

    @cached_property
    def _parts(self) -> list[Path]:
        return parts_of(self.path) or [self.path]

    @cached_property
    def _outcome(self) -> Header | str:
        real = self.path.resolve()
        if missing := [part for part in self._parts if not os.path.isfile(part)]:
            first = missing[0].name
            return f"{len(missing)} of its {len(self._parts)} parts are missing, from {first}."
        try:
            return headers.read(real)
        except ModelError as error:
            return str(error).removeprefix(f"{real} ").removeprefix("is ")
