"""The process that reads a folder: `python -m assistant.passages.worker FOLDER INDEX ... PARENT`.

It says in lines of JSON what it is about to read, so that its parent knows which file it was if it
does not survive one; `... PATH REASON` names a file that another worker did not survive. It has the
lowest priority, opens no connection, and never outlives its parent.
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
from pathlib import Path, PurePath

from filelock import FileLock

from assistant.passages import index_file, reading, words
from assistant.passages.index_file import IndexFile
from assistant.passages.reading import Unread
from assistant.passages.splitting import split
from assistant.passages.walking import Found, walk
from assistant.process.landlock import forbid_connections
from assistant.tools.folders import Folders, UnreadablePath
from models import child_process

CPU_S, PATIENCE_S = 30, 300
"""Seconds that the processor, and everything, may take for a file."""
MEMORY = 2_000_000_000
"""Bytes of address space."""
COMMIT_S = 1.0
"""Seconds after which what was read can be found."""


def main(folder: Path, path: Path, unread: dict[str, str]) -> None:
    """Bring the index of a folder up to date."""
    index_file.remove_lost(path.parent)
    with FileLock(f"{path}.lock"):
        try:
            _update(folder, IndexFile(path, folder), unread)
        except sqlite3.OperationalError:  # a full disk: the index is sound
            raise
        except sqlite3.DatabaseError:  # it is damaged, and nothing is lost with it
            index_file.remove(path)
            _update(folder, IndexFile(path, folder), unread)


def _update(folder: Path, index: IndexFile, unread: dict[str, str]) -> None:
    changed = index.compare(walk(folder))
    folders, committed = Folders([folder]), time.monotonic()
    for done, found in enumerate(changed):
        print(json.dumps({"done": done, "of": len(changed), "path": found.path}), flush=True)
        if found.path in unread:
            index.put(found, reason=unread[found.path])
            continue
        _limit_time()
        try:
            _read(folders, found, index)
        except UnreadablePath as error:
            index.put(found, reason=str(error).removeprefix(f"{found.path} ").rstrip("."))
        except Unread as error:
            index.put(found, reason=str(error))
        if time.monotonic() > committed + COMMIT_S:
            index.commit()
            committed = time.monotonic()
    _limit_time(unlimited=True)
    index.commit(complete=True)
    index.close()


def _read(folders: Folders, found: Found, index: IndexFile) -> None:
    path = PurePath(found.path)
    with folders.opened(found.path) as descriptor:
        data = reading.content(descriptor, path)
    digest = hashlib.blake2b(data, digest_size=16).digest()
    if index.is_same(found, digest):
        return
    try:
        lines = reading.lines(data, path)
    except Unread:
        raise
    except Exception as error:  # whatever a reader finds wrong with a file
        raise Unread(f"is malformed: {type(error).__name__} {error}"[:200]) from error
    sample = "\n".join(line.text for line in lines[:1_000])
    parts = split(lines, reading.is_headed(path))
    index.put(found, digest, parts, language=words.language(sample))


def _limit_time(unlimited: bool = False) -> None:
    """Have the system end this process if the next file takes too long."""
    used, (_, most) = time.process_time(), resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (most if unlimited else int(used) + CPU_S, most))
    signal.alarm(0 if unlimited else PATIENCE_S)


def _confine(parent: int) -> None:
    child_process.die_with(parent)
    os.nice(19)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):  # not on macOS
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    forbid_connections()


if __name__ == "__main__":
    _confine(int(sys.argv[-1]))
    folder, path, *unread = sys.argv[1:-1]
    try:
        main(Path(folder), Path(path), dict(zip(unread[::2], unread[1::2], strict=True)))
    except (OSError, sqlite3.Error) as error:
        print(json.dumps({"error": str(error)}), flush=True)
