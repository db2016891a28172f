"""The mapped model file, of which most is not looked at again once it has been rearranged."""

import ctypes
import sys
from contextlib import suppress
from pathlib import Path

_DONTNEED = 4  # MADV_DONTNEED
_LARGE = 1 << 20


def let_go() -> None:
    """Give back the pages of mapped files; they are in the system's cache, and come when needed.

    Loading touches all of a file, also the weights that are then kept rearranged elsewhere; those
    pages would stay and count until the process ends. This is done on Linux alone.
    """
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    with suppress(OSError):  # no /proc here
        for line in Path("/proc/self/maps").read_bytes().splitlines():
            addresses, access = line.split()[:2]
            start, end = (int(address, 16) for address in addresses.split(b"-"))
            if access == b"r--s" and end - start >= _LARGE:  # never written: nothing can be lost
                advise(start, end - start, _DONTNEED)
