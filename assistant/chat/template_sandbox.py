"""A sandbox for chat templates: untrusted programs, limited in time, memory and numbers."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from time import thread_time
from types import FrameType
from typing import Any

import psutil
from jinja2.filters import do_round
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

MOST_BITS = 4096
"""Of the numbers that a template computes with; no date and no length has a hundredth of that."""
_MOST_DIGITS = 300
STRIDE = 16
"""Lines of Python between two looks at the clock."""


class TooMuch(Exception):
    """A bound was exceeded; the text says which."""


@contextmanager
def bounded(seconds: float, memory: int) -> Iterator[None]:
    """Let the block compute for `seconds`, and take `memory` bytes on top of what the process has.

    Time, of this thread alone, is looked at every few lines of Python; memory by the system where
    it can.

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
    end = thread_time() + seconds  # other programs may keep the machine busy
    turns = cycle(range(STRIDE))  # the clock takes longer than most lines

    def look(frame: FrameType, event: str, argument: Any) -> Any:
        if not next(turns) and thread_time() > end:
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


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """Render templates that reach nothing, and compute with numbers of some length at most."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.filters["round"] = _round

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute, unless it would take long."""
        if isinstance(left, int) and isinstance(right, int):
            size = left.bit_length()
            if (size * right if operator == "**" else size + right.bit_length()) > MOST_BITS:
                raise TooMuch("its numbers are too long")
        return super().call_binop(context, operator, left, right)


def _round(value: float, precision: int = 0, method: Any = "common") -> float:
    if abs(precision) > _MOST_DIGITS:
        raise TooMuch("its numbers are too long")
    return do_round(value, precision, method)
