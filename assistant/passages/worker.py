"""The process that reads a folder: `python -m assistant.passages.worker PATH INDEX ...`.

It prints a line of JSON before it reads a file, so that its parent knows which file it crashed on;
`... PATH REASON` names a file that an earlier process crashed on. It has the lowest priority, opens
no connection, and never outlives its parent. `... worker PATH` prints a document as text.
"""

import hashlib
import json
import os
import resource
import signal
import sqlite3
import sys
import time
import zlib
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from filelock import FileLock

from assistant.passages import file_lines, index_file
from assistant.passages.index_file import IndexFile
from assistant.passages.walking import FoundFile, walk
from assistant.tools.folders import Folders, UnreadablePath
from models import child_process

CPU_S, PATIENCE_S = 30, 300  # of processor time, and of elapsed time, that a file may take
MEMORY = 2_000_000_000  # bytes of address space
COMMIT_S = 1.0  # between two commits, after which new passages can be found


def update(folder: Path, path: Path, failed: dict[str, str]) -> None:
    """Bring the index of a folder up to date; `failed` says why files are not to be read."""
    index_file.remove_lost(path.parent)
    with FileLock(f"{path}.lock"):
        try:
            _update(folder, path, failed)
        except sqlite3.OperationalError:  # a full disk: the index is sound
            raise
        except (sqlite3.DatabaseError, zlib.error):  # damaged, or of another version; no loss
            index_file.remove(path)
            _update(folder, path, failed)


def _update(folder: Path, path: Path, failed: dict[str, str]) -> None:
    folders, index = Folders([folder]), IndexFile(index_file.open_index(path, "rwc"), folder)
    files = (file._replace(reason=failed.get(file.path, file.reason)) for file in walk(folders))
    changed, committed = sorted(index.compare(files)), time.monotonic()
    for done, file in enumerate(changed):
        print(json.dumps({"done": done, "of": len(changed), "path": file.path}), flush=True)
        _limit_time(CPU_S)
        _read(folders, file, index)
        if time.monotonic() > committed + COMMIT_S:
            index.commit()
            committed = time.monotonic()
    _limit_time(None)
    index.complete()


def _read(folders: Folders, file: FoundFile, index: IndexFile) -> None:
    kind = Path(file.path).suffix.lower()
    try:
        with folders.open(file.path) as descriptor:
            data = file_lines.content(descriptor, kind)
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if not index.is_same(file, digest):
            index.put(file, digest, *file_lines.passages(file.path, file_lines.lines(data, kind)))
    except (file_lines.UnsupportedFile, UnreadablePath) as error:
        index.put(file, reason=str(error).removeprefix(f"{file.path} ").rstrip("."))


def print_text(path: Path) -> None:
    """Print the text of a document, its pages separated by form feeds, or exit with the reason."""
    kind = path.suffix.lower()
    _limit_time(CPU_S)
    try:
        if path.exists() and not path.is_file():
            sys.exit("is not a file; only files with text can be used")
        with path.open("rb") as file:
            lines = file_lines.lines(file_lines.content(file.fileno(), kind), kind)
    except OSError as error:
        sys.exit(f"cannot be read: {error.strerror}")
    except file_lines.UnsupportedFile as error:
        sys.exit(" ".join(str(error).split()))
    parts = ("\n".join(line.text for line in part) for _, part in groupby(lines, itemgetter(0)))
    text = file_lines.separator(path.name).join(parts)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def _limit_time(seconds: int | None) -> None:
    """Have the system end this process if the next file takes too long."""
    hard_limit = resource.getrlimit(resource.RLIMIT_CPU)[1]
    until = hard_limit if seconds is None else int(time.process_time()) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (until, hard_limit))
    signal.alarm(0 if seconds is None else PATIENCE_S)


def main() -> None:
    """Confine this process, and do what it was started for."""
    child_process.confine()
    with suppress(ValueError, OSError):  # not on macOS
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    folder, *index = sys.argv[1:]
    if not index:
        return print_text(Path(folder))
    os.nice(19)
    path, *failed = index
    try:
        update(Path(folder), Path(path), dict(zip(failed[::2], failed[1::2], strict=True)))
    except (OSError, sqlite3.Error) as error:
        print(json.dumps({"error": str(error)}), flush=True)


if __name__ == "__main__":
    main()
