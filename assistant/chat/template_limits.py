"""Bounds for running what a stranger wrote: a chat template is a program."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from types import FrameType
from typing import Any

import psutil


class TooMuch(Exception):
    """A bound was exceeded; the text says which."""


@contextmanager
def bounded(seconds: float, memory: int) -> Iterator[None]:
    """Let the block take `seconds`, and `memory` bytes on top of what the process has.

    Time is looked at between lines of Python, memory by the system where it can.

    Raises:
        TooMuch: the block took more.
    """
    with _ceiling(memory), _deadline(seconds):
        try:
            yield
        except MemoryError:
            raise TooMuch(f"it takes more than {memory // 1_000_000} MB of memory") from None


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    end = perf_counter() + seconds

    def look(frame: FrameType, event: str, argument: Any) -> Any:
        if perf_counter() > end:
            raise TooMuch(f"it takes longer than {seconds:g} seconds")
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def _ceiling(memory: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    ceiling = psutil.Process().memory_info().vms + memory
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([ceiling, *limits]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
