"""Downloads that end before they are complete."""

import signal
import subprocess
import sys

import pytest

from models.errors import Cancelled
from models.files.pull import pull
from tests import ROOT
from tests.patience import WAIT_S

CHUNK = 1 << 16  # bytes at most that arrive at once
NO_MIRROR = "org/toy-GGUF:toy.gguf"  # by its repository it is unknown to the package index
# Prints when `stop_at` bytes are there, then waits to be killed.
PULL = """
import sys, time
from models.files.pull import pull
def progress(progress):
    if progress.done >= {stop_at} and progress.note == "{note}":
        print("there", flush=True)
        time.sleep(600)
print(pull("{reference}", progress=progress))
"""


def pulling(reference=NO_MIRROR, note="from the hub", prepare="", stop_at=1 << 60):
    code = prepare + PULL.format(reference=reference, stop_at=stop_at, note=note)
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def killed_at(stop_at, reference=NO_MIRROR, note="from the hub", prepare=""):
    """Pull in another process, and kill it when so many bytes are there."""
    process = pulling(reference, note, prepare, stop_at)
    assert (process.stdout and process.stdout.readline()) == b"there\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()


# Python would cut what it compiles, too, and read that in every later run.
FULL = """
import os, resource, sys
sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
"""


def full_disk_at(size, reference=NO_MIRROR, note="from the hub", prepare=""):
    """Pull in another process to a disk on which no file may be larger."""
    process = pulling(reference, note, FULL.format(size=size) + prepare)
    assert b"StorageError: The disk" in process.communicate(timeout=WAIT_S)[1]


def cancelled_at(size, reference=NO_MIRROR, *_):
    """Pull in this process, and cancel it when so many bytes are there."""
    with pytest.raises(Cancelled):
        pull(reference, progress=stopping(lambda seen: seen.done >= size))


def stopping(is_time):
    """Return a receiver of progress that stops the work as soon as it is time."""

    def report(seen):
        if is_time(seen):
            raise Cancelled

    return report
