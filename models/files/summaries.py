"""Headers that were read before, so that a file that has not changed is not read again."""

import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import get_args

from models.errors import ModelError
from models.files import private
from models.files.places import cache_dir
from models.gguf import ModelSummary, summarise

_VERSION = 1  # of `Summary`: a record of another one is not understood
Outcome = ModelSummary | str
"""What is known of a file: its summary, or what is wrong with it."""


class Summaries:
    """Summaries by file, kept in the cache folder; a damaged record costs a second reading."""

    def __init__(self) -> None:
        self._records = _load()
        self._fresh = False

    def of(self, path: Path) -> Outcome:
        """Return the summary of a file, or a sentence that says why it has none."""
        try:
            status = path.stat()
        except (OSError, ValueError) as error:
            return f"{str(path)!r} cannot be read: {error}."
        stamp = [status.st_size, status.st_mtime_ns]
        record = self._records.get(str(path))
        if isinstance(record, list) and record[:2] == stamp and len(record) == 3:
            known = _outcome(record[2])
            if known is not None:
                return known
        outcome = _read(path)
        kept = asdict(outcome) if isinstance(outcome, ModelSummary) else outcome
        self._records[str(path)] = [*stamp, kept]
        self._fresh = True
        return outcome

    def save(self) -> None:
        """Write what was learnt, in one step; what cannot be written is read again next time."""
        if not self._fresh:
            return
        records = {name: record for name, record in self._records.items() if os.path.exists(name)}
        try:
            private.write(_place(), json.dumps({"version": _VERSION, "files": records}))
        except (OSError, ValueError):
            return
        self._fresh = False


def _read(path: Path) -> Outcome:
    try:
        return summarise(path)
    except ModelError as error:
        return str(error)


def _place() -> Path:
    return cache_dir() / "headers.json"


def _load() -> dict[str, object]:
    try:
        kept = json.loads(_place().read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(kept, dict) or kept.get("version") != _VERSION:
        return {}
    files = kept.get("files")
    return files if isinstance(files, dict) else {}


def _outcome(record: object) -> Outcome | None:
    """Return what was written, if it is what would be written now."""
    if isinstance(record, str):
        return record
    if not isinstance(record, dict) or record.keys() != {
        field.name for field in fields(ModelSummary)
    }:
        return None
    for field in fields(ModelSummary):
        if type(record[field.name]) not in (get_args(field.type) or (field.type,)):
            return None
    return ModelSummary(**record)
