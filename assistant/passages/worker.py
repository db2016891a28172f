"""The process that reads a folder: `python -m assistant.passages.worker FOLDER INDEX ... PARENT`.

It says in lines of JSON what it is about to read, so that its parent knows which file it did not
survive; `... PATH REASON` names a file that one before did not. It has the lowest priority, opens
no connection, and never outlives its parent.
"""

import hashlib
import json
import os
import resource
import signal
import sqlite3
import sys
import time
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

from assistant.passages import index_file, reading, words
from assistant.passages.index_file import IndexFile
from assistant.passages.splitting import split
from assistant.passages.walking import Found, walk
from assistant.tools.folders import Folders, UnreadablePath
from models import child_process

CPU_S, PATIENCE_S = 30, 300
"""Seconds that the processor, and everything, may take for a file."""
MEMORY = 2_000_000_000
"""Bytes of address space."""
COMMIT_S = 1.0
"""Seconds after which what was read can be found."""


def update(folder: Path, path: Path, unread: dict[str, str]) -> None:
    """Bring the index of a folder up to date; `unread` says why files are not to be read."""
    index_file.remove_lost(path.parent)
    with FileLock(f"{path}.lock"):
        try:
            _update(Folders([folder]), IndexFile(path, folder), unread)
        except sqlite3.OperationalError:  # a full disk: the index is sound
            raise
        except sqlite3.DatabaseError:  # damaged, or of another version; nothing is lost with it
            index_file.remove(path)
            _update(Folders([folder]), IndexFile(path, folder), unread)


def _update(folders: Folders, index: IndexFile, unread: dict[str, str]) -> None:
    found = (each._replace(reason=unread.get(each.path, each.reason)) for each in walk(folders))
    changed, committed = sorted(index.compare(found)), time.monotonic()
    for done, file in enumerate(changed):
        print(json.dumps({"done": done, "of": len(changed), "path": file.path}), flush=True)
        _limit_time(CPU_S)
        _read(folders, file, index)
        if time.monotonic() > committed + COMMIT_S:
            index.commit()
            committed = time.monotonic()
    _limit_time(None)
    index.complete()


def _read(folders: Folders, found: Found, index: IndexFile) -> None:
    kind = Path(found.path).suffix.lower()
    try:
        with folders.opened(found.path) as descriptor:
            data = reading.content(descriptor, kind)
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if not index.is_same(found, digest):
            lines = reading.lines(data, kind)
            language = words.language("\n".join(line.text for line in lines[:1_000]))
            names = reading.names(found.path, lines)
            header = reading.header(lines) if kind in reading.TABLES else ""
            parts = split(lines, kind in reading.HEADED, names, header)
            index.put(found, digest, parts, language)
    except (reading.Unread, UnreadablePath) as error:
        index.put(found, reason=str(error).removeprefix(f"{found.path} ").rstrip("."))


def _limit_time(seconds: int | None) -> None:
    """Have the system end this process if the next file takes too long."""
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    until = most if seconds is None else int(time.process_time()) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (until, most))
    signal.alarm(0 if seconds is None else PATIENCE_S)


def main() -> None:
    """Confine this process, and do what it was started for."""
    child_process.confine(int(sys.argv[-1]))
    os.nice(19)
    with suppress(ValueError, OSError):  # not on macOS
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    folder, path, *unread = sys.argv[1:-1]
    try:
        update(Path(folder), Path(path), dict(zip(unread[::2], unread[1::2], strict=True)))
    except (OSError, sqlite3.Error) as error:
        print(json.dumps({"error": str(error)}), flush=True)


if __name__ == "__main__":
    main()
