"""Waiting until an app under test is idle.

Textual's pilot asks the processor instead, twice for every key: it sleeps a fiftieth of a second
until one such sleep took hardly any computing. That is slow where an engine computes beside the
app, and wrong where the app only waits for its turn.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from concurrent.futures.thread import _worker
from contextlib import contextmanager, suppress
from math import inf
from random import Random
from threading import Condition
from time import thread_time
from typing import Any

import textual.app
import textual.pilot
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.message import Message
from textual.message_pump import MessagePump
from textual.notifications import Notification
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from tests.patience import WAIT_S

NEAR_S = 0.025
"""What is due within this time is waited for: the screen is laid out sixty times a second."""


async def rest(_least: float = 0, most: float = 1, *, near_s: float = NEAR_S) -> None:
    """Wait until all messages are handled, timers that were near have rung, and threads are idle.

    It stands in for Textual's function of the same first parameters, in seconds. They are those of
    a machine that does nothing else: what it takes to get a core is not counted.
    """
    loop: Any = asyncio.get_running_loop()
    computed, slept = thread_time(), 0.0
    while (passed := slept + thread_time() - computed) < most:
        await asyncio.sleep(0)
        if loop._ready:
            continue
        now = loop.time()
        due = min((timer.when() for timer in loop._scheduled if not timer.cancelled()), default=inf)
        pause = max(0.0, due - now)
        if passed + pause <= near_s:
            await asyncio.sleep(pause)
            slept += pause
        elif working(loop):
            await asyncio.sleep(0.001)
        else:
            return


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Wait until a condition holds, and until the app is at rest then."""
    async with asyncio.timeout(WAIT_S):
        while not condition():
            await pilot.pause(0.01)
    await pilot.pause()


async def calm(pilot: Pilot[Any]) -> None:
    """Wait until all work is done and the screen has stayed the same for a while."""
    seen = ["", " "]
    while seen[-1] != seen[-2] or seen[-1] != seen[-3]:
        for worker in [worker for worker in pilot.app.workers if worker.node is not pilot.app]:
            with suppress(WorkerCancelled):  # a newer one of its group replaced it
                await worker.wait()
        await pilot.pause(0.15)
        seen.append(pilot.app.export_screenshot())


@contextmanager
def late_messages(seed: int) -> Iterator[None]:
    """Deliver a quarter of all messages late, as on a machine whose cores are busy."""
    random, dispatch = Random(seed), MessagePump._dispatch_message

    async def dispatch_late(pump: MessagePump, message: Message) -> None:
        if random.random() < 0.25:
            await asyncio.sleep(random.choice((0, 0, 0.001, 0.005, 0.02)))
        await dispatch(pump, message)

    MessagePump._dispatch_message = dispatch_late  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        MessagePump._dispatch_message = dispatch  # type: ignore[method-assign]


def working(loop: Any) -> bool:
    """Return whether threads do what the loop gave them; a test may hold one that waits."""
    executor = loop._default_executor
    if executor is None or executor._idle_semaphore._value >= len(executor._threads):
        return False
    frames = sys._current_frames()
    at = {frames[thread.ident].f_code for thread in executor._threads if thread.ident in frames}
    return bool(at) and at - {_worker.__code__} != {Condition.wait.__code__}


def parsed_once(parse: Callable[..., list[RuleSet]]) -> Callable[..., list[RuleSet]]:
    """Return a parser of styles that parses none twice with the same variables."""
    known: dict[object, list[RuleSet]] = {}

    def rules(sheet: Stylesheet, *given: object, **named: object) -> list[RuleSet]:
        key = (frozenset(sheet._variables.items()), given, *sorted(named.items()))
        if key not in known:
            known[key] = parse(sheet, *given, **named)
        return known[key]

    return rules


def use() -> None:
    """Let every pilot wait so, every toast stay, and every app parse the styles of the last one."""
    RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]  # the same, a million times
    Stylesheet._parse_rules = parsed_once(Stylesheet._parse_rules)  # type: ignore[method-assign]
    for module in (textual.app, textual.pilot):
        setattr(module, "wait_for_idle", rest)  # noqa: B010  # they do not export it
    Notification.time_left = property(lambda notice: WAIT_S)  # type: ignore[assignment,method-assign]
