"""How much a test tries, and how long it waits for what has to come.

A busy machine may take minutes for the work of a moment. A test that is right never waits so long,
and one that is wrong may: this is no measure of speed.
"""

import os
import time
from collections.abc import Callable

WAIT_S = 200.0
ALL = bool(os.environ.get("SPECCHAT_TEST_ALL"))
"""Whether to try all that there is, as before a release."""


def examples(count: int) -> int:
    """Return how many of `count` examples to try: a third of them, except in a thorough run."""
    return count if ALL else count // 3


def until(condition: Callable[[], object], describe: Callable[[], object] = lambda: "") -> None:
    """Wait until a condition holds; `describe` returns the message of the failure."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, describe()
        time.sleep(0.01)
