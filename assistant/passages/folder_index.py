"""The index of a folder: updated by another process, and searched for a question."""

import asyncio
import json
import os
import signal
import sqlite3
import zlib
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from assistant.passages import finding, index_file
from assistant.passages.index_file import IndexFile
from assistant.passages.splitting import TextLine
from assistant.passages.walking import FoundFile
from models import child_process
from models.errors import StorageError
from models.files import disk

NAMED = 5  # the most reasons that are named for which files are left out


class IndexState(NamedTuple):
    """The counts of an index."""

    files: int = 0  # that were read
    skipped: tuple[str, ...] = ()  # a sentence about each reason for which files are left out
    skipped_count: int = 0  # how many are left out
    is_current: bool = False  # whether the last update has reached its end


class FolderIndex:
    """The index of one folder, for several threads and processes; it keeps no file open."""

    def __init__(self, folder: Path, cache: Path) -> None:
        """Name a folder, and the one for indexes; nothing is opened before use."""
        self.folder = folder
        self._path = index_file.index_path(folder, cache)

    def find(self, question: str, before: Sequence[str] = (), limit: int = 8) -> finding.Hits:
        """Return the passages that fit a question, also while an update runs.

        Words of the questions `before`, the latest first, have less weight than those of this one.
        """
        if os.path.isdir(self.folder):
            try:
                with closing(index_file.open_index(self._path)) as sql:
                    sql.execute("BEGIN")  # so that no passage goes while it is searched
                    return finding.find(sql, self.folder, question, before, limit)
            except sqlite3.OperationalError:  # there is none, or it is locked
                pass
            except (sqlite3.DatabaseError, zlib.error):  # damaged: the next update makes it again
                index_file.remove(self._path)
        return finding.Hits([], {})

    def is_stale(self, read: float) -> bool:
        """Return whether something has changed since the index was `read`, in seconds since 1970.

        The files that were read are compared, and the times of the folders that they are in.
        """
        with suppress(sqlite3.Error, OSError), closing(index_file.open_index(self._path)) as sql:
            query = "SELECT path, size, changed FROM file WHERE reason = ''"
            known = {path: (size, changed) for path, size, changed in sql.execute(query)}
            folders = {Path(), *chain.from_iterable(Path(path).parents for path in known)}
            times = [os.stat(self.folder / path).st_mtime for path in folders]
            states = {path: os.lstat(self.folder / path) for path in known}
            now = {path: (state.st_size, state.st_mtime_ns) for path, state in states.items()}
            return now != known or max(times) >= read
        return True

    @property
    def state(self) -> IndexState:
        """What the index holds now."""
        with suppress(sqlite3.DatabaseError), closing(index_file.open_index(self._path)) as sql:
            files, is_current = sql.execute(
                "SELECT (SELECT count(*) FROM file WHERE reason = ''), current FROM folder"
            ).fetchone()
            skipped = sql.execute(
                "SELECT min(path), count(*), reason FROM file WHERE reason <> '' "
                "GROUP BY reason ORDER BY min(path) <> '', count(*) DESC, 1"
            ).fetchall()
            named = tuple(
                f"{self.folder / path}{f' (and {count - 1:,} more)' if count > 1 else ''} {reason}."
                for path, count, reason in skipped[:NAMED]
            )
            return IndexState(files, named, sum(row[1] for row in skipped), bool(is_current))
        return IndexState()


def find_in_text(
    name: str, text: str, question: str, before: Sequence[str], limit: int
) -> finding.Hits:
    """Return the passages of a text that fit a question; see `FolderIndex.find`."""
    return finding.find(_index_of(name, text), Path(), question, before, limit)


@lru_cache(2)
def _index_of(name: str, text: str) -> sqlite3.Connection:
    """Index a text in memory, by lines of plain text: its readers run in no process of their own.

    Connections in memory may be shared by threads, as SQLite is built for Python.
    """
    from assistant.passages import file_lines  # with readers of documents, which few chats need

    sql, name = sqlite3.connect(":memory:", check_same_thread=False), Path(name).name
    parts = enumerate(file_lines.plain(text).split(file_lines.separator(name)), 1)
    lines = [TextLine(number, line) for number, part in parts for line in part.split("\n")]
    IndexFile(sql, Path()).put(FoundFile(name), b"", *file_lines.passages(name, lines))
    return sql


class IndexProgress(NamedTuple):
    """How far an update has come."""

    done: int  # files that were read in this update
    of: int  # files that are new or have changed
    path: Path  # the file being read


async def update(folder: Path, cache: Path) -> AsyncGenerator[IndexProgress, None]:
    """Read the files that have changed in a folder; yield progress until all are current.

    A child process with the lowest priority reads them, which ends when the iterator is closed. A
    file that crashes its reader is named, and another child continues. The index of a folder that
    is gone is deleted; StorageError if one cannot be written.
    """
    folder, index = folder.resolve(), index_file.index_path(folder, cache)
    try:
        disk.private_folder(cache)
    except OSError as error:
        raise _unwritable(folder, index, str(error.strerror)) from error
    if not os.path.isdir(folder):
        index_file.remove(index)
        return
    failed_file: tuple[str, ...] = ()
    while True:
        process = await asyncio.create_subprocess_exec(
            *child_process.command("assistant.passages.worker", folder, index, *failed_file),
            env=child_process.environment(),
            start_new_session=True,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
        )
        assert process.stdout is not None
        reads = ""
        try:
            async for line in process.stdout:
                message = json.loads(line)
                if "error" in message:
                    raise _unwritable(folder, index, message["error"])
                reads = message["path"]
                yield IndexProgress(message["done"], message["of"], folder / reads)
            status = await process.wait()
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if status == 0:
            return
        if not reads or reads in failed_file:
            raise _unwritable(folder, index, f"its process ended with {status}")
        is_slow = -status in (signal.SIGXCPU, signal.SIGALRM)
        reason = "takes too long to read" if is_slow else f"crashes its reader ({status})"
        failed_file = (reads, reason)


def _unwritable(folder: Path, index: Path, why: str) -> StorageError:
    return StorageError(f"The index of {folder} cannot be written to {index}: {why}.")
