"""Waiting until an app under test has done what it has to do.

Textual's pilot asks the processor instead, twice for every key: it sleeps a fiftieth of a second
until one such sleep took hardly any computing. That is slow where an engine computes beside the
app, and wrong where the app only waits for its turn.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import textual.app
import textual.pilot
from textual.pilot import Pilot

from tests.patience import WAIT_S

NEAR_S = 0.025
"""What is due within this time is waited for: the screen is laid out sixty times a second."""
THREADS_S = 0.2
"""How long threads that work for the app are waited for; a test may hold one forever."""


async def rest(_least: float = 0, most: float = 1, *, near_s: float = NEAR_S) -> None:
    """Wait until all messages are handled, timers that were near have rung, and threads are idle.

    It stands in for Textual's function of the same first parameters, in seconds.
    """
    loop: Any = asyncio.get_running_loop()
    now = loop.time()
    near, threads_end, end = now + near_s, now + THREADS_S, now + most
    while (now := loop.time()) < end:
        await asyncio.sleep(0)
        if loop._ready:
            continue
        due = min((timer.when() for timer in loop._scheduled if not timer.cancelled()), default=end)
        if due <= near:
            await asyncio.sleep(max(0.0, due - now))
        elif now < threads_end and working(loop):
            await asyncio.sleep(0.001)
        else:
            return


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Wait until a condition holds, and until the app is at rest then."""
    async with asyncio.timeout(WAIT_S):
        while not condition():
            await pilot.pause(0.01)
    await pilot.pause()


def working(loop: Any) -> bool:
    """Whether a thread that the loop has given some work is not done with it."""
    executor = loop._default_executor
    return executor is not None and executor._idle_semaphore._value < len(executor._threads)


def use() -> None:
    """Let every pilot wait so."""
    for module in (textual.app, textual.pilot):
        setattr(module, "wait_for_idle", rest)  # noqa: B010  # they do not export it
