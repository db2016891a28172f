"""Make a copy of a model whose weights lie as the kernels want them, and check its logits.

`python -m models.native.repacking SOURCE` does so for ik_llama.cpp, with the lowest priority.
"""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import time
from uuid import uuid4

from filelock import FileLock

from models import machine
from models.errors import SpecchatError
from models.files import checksum
from models.files.disk import private_folder
from models.files.gguf_files import parts_of
from models.native import loaded
from models.native.model import NativeModel
from models.native.repacked import LIMIT, Copy, folder, name_of, remove, save_record
from models.native.weights import Weights

SPARE = 10_000_000_000  # bytes that stay free on the disk
TIMES_SIZE = 1.5  # the memory that it takes to check a copy, by the size of the model
_BATCHES = (30, 1), (31, 1), (33, 2), (37, 4)
"""The batches of the check: how many tokens have been read after each, and its rows."""


def make(source: Path) -> Path | None:
    """Write the copy of a model; return its path, or None if there is no room or it differs."""
    repack, size, directory = loaded.engine().repack, source.stat().st_size, folder()
    private_folder(directory)
    with FileLock(directory / "making.lock", timeout=0):  # one at a time on this machine
        free = min(LIMIT, shutil.disk_usage(directory).free - SPARE)
        memory = machine.memory().free / TIMES_SIZE
        if repack is None or parts_of(source) or size > min(free, memory):
            return None
        remove(LIMIT - size)
        digest, copy = checksum.sha256_once(source), Copy(str(source.resolve()), used_s=time())
        path, fresh = directory / name_of(source), directory / f"{uuid4().hex}.part"
        save_record(path.name, copy)  # if this ends the process, it is not tried again soon
        try:
            subprocess.run(repack(source, fresh), check=True, capture_output=True)
            if _logits_of(source, fresh) != _logits_of(source) or checksum.sha256(source) != digest:
                return None
            with fresh.open("rb+") as file:
                os.fsync(file.fileno())
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
        status = path.stat()
        size, mtime_ns = status.st_size, status.st_mtime_ns
        save_record(path.name, replace(copy, size=size, mtime_ns=mtime_ns, used_s=time()))
        remove(LIMIT)  # copies for other builds
    return path


def _logits_of(source: Path, copy: Path | None = None) -> bytes:
    """Return the logits of a few tokens in batches of several sizes, bit for bit."""
    weights = Weights(source, copy=copy)
    model = NativeModel(weights, n_ctx=256, max_rows=4)
    tokens = [token % model.n_vocab for token in range(1000, 1037)]
    logits = b"".join(model.logits(tokens[:end], rows).tobytes() for end, rows in _BATCHES)
    model.close()
    weights.close()
    return logits


if __name__ == "__main__":
    os.nice(19)
    with suppress(OSError, SpecchatError, subprocess.CalledProcessError):  # as without a copy
        loaded.use("ik")
        make(Path(sys.argv[1]))
