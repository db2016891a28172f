"""Cases on a small disk that fills up: `small_disk.py FOLDER CASE`, within `unshare --mount`.

Each case asserts in here: the disk is gone when the program ends.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

DISK, TARGET = Path(sys.argv[1]), Path(sys.argv[1]).with_name("target.gguf")
FILL = DISK / "fill"
PATCH = pytest.MonkeyPatch()


def fill(free: int = 0) -> None:
    """Leave only so many bytes."""
    with FILL.open("ab", buffering=0) as file:
        for size in (1 << 16, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                pass
    os.truncate(FILL, max(0, FILL.stat().st_size - free))


def started(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", "from tui.__main__ import main; main()", *arguments]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(command, text=True, stdin=nothing, stdout=pipe, stderr=pipe)


def ended(program: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, errors = program.communicate()
    assert "Traceback" not in errors, errors
    assert "bug" not in errors, errors
    return program.returncode, out, errors


def ask(*arguments: str) -> "subprocess.Popen[str]":
    return started("ask", "Hi", "--target", str(TARGET), "--draft", "none", *arguments)


def check_rest() -> None:
    """Whatever is left is whole."""
    for path in DISK.rglob("*.json"):
        json.loads(path.read_bytes())
    assert not [*DISK.rglob("*.part")]


def answer() -> None:
    """What was seen of an answer is stored, or its loss is said."""
    assert ended(ask("--chat", "new", "--max-tokens", "5"))[0] == 0
    program = ask("--chat", "new", "--max-tokens", "900", "--ctx", "1000")
    out: IO[str] = program.stdout or sys.stdin
    seen = out.read(200)
    fill()
    code, rest, errors = ended(program)
    assert (code, "so this was not kept" in errors) in ((4, True), (0, False))
    check_rest()
    FILL.unlink()
    assert ended(started("chats", "show", "1"))[0] == 0
    assert code == 4 or (seen + rest).strip()[-40:] in ended(started("chats", "show", "2"))[1]


def caches() -> None:
    """What is measured and remembered of models is left out."""
    for free in (0, 5_000, 30_000):
        fill(free)
        code, out, errors = ended(ask("--max-tokens", "30"))
        assert code == 0, errors
        assert out
        check_rest()


def context() -> None:
    """No part of a saved context stays."""
    from models.files import snapshots

    snapshots.SPARE = -(1 << 40)  # the disk becomes full meanwhile
    saved = snapshots.Snapshots(DISK / "contexts", "a model", 1 << 30)
    fill(100_000)
    for size in (50_000, 200_000):
        try:
            saved.write([size], memoryview(bytes(size)))
        except OSError:
            assert size == 200_000
    assert [found.tokens for found in saved.find()] == [[50_000]]
    check_rest()


def slim() -> None:
    """A draft that cannot be written leaves nothing."""
    import numpy as np

    from models.errors import StorageError
    from models.slim import slim_draft

    def roomy(folder: Path, needed: int) -> None:  # another program takes the room meanwhile
        PATCH.undo()
        fill(50_000)

    PATCH.setattr(slim_draft, "require_space", roomy)
    with pytest.raises(StorageError, match=str(DISK)):
        slim_draft.make(TARGET, np.arange(259), "a target, 5 bytes", print)
    assert not [*DISK.rglob("*.gguf")]
    check_rest()


def copy() -> None:
    """A copy that cannot be written is none, and can be made later."""
    from types import SimpleNamespace

    from models.files import checksum
    from models.native import loaded, repacked, repacking

    source = TARGET.with_name("q4.gguf")
    loaded.use("ik")
    checksum.sha256_once(source)
    repacking.SPARE = 0
    PATCH.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1 << 40))
    for free in (0, 5_000, 60_000):
        fill(free)
        with suppress(OSError, subprocess.CalledProcessError):
            assert repacking.make(source) is None
        assert repacked.find(source) is None
        check_rest()
    FILL.unlink()
    PATCH.undo()
    assert repacking.make(source) == repacked.find(source) is not None


if __name__ == "__main__":
    globals()[sys.argv[2]]()
