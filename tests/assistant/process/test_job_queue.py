"""What becomes of jobs: each is sent in its turn, and each hears of one end."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest

from assistant.events import Counted, Failed, Finished, Loading, ModelInfo, Prepared, Ready, Stop
from assistant.process.client import EngineProcess
from assistant.process.job_queue import STOPPED, JobQueue
from assistant.process.protocol import CHAT, Last
from assistant.process.worker_process import WorkerProcess
from assistant.request import AnyJob, Cancel, Count, Sampling, Setup, Steer
from assistant.service import Ticket
from tests.assistant.process.driving import ask, running
from tests.assistant.process.fakes.toy import TOY, Toy, Toyed
from tests.patience import WAIT_S

JOBS = 60
READY = Ready(ModelInfo("target", "a", Path("a.gguf"), 1, 1, 1, 1.0), None, None)


class Asked:
    """A job, and what was heard of it."""

    def __init__(self, submit: Callable[..., Ticket], job: AnyJob) -> None:
        self.heard: list[Any] = []
        self.over = Signal()
        self.ticket = submit(job, self._hear)

    def _hear(self, event: object) -> None:
        self.heard.append(event)
        if event is None:
            self.over.set()


def queued(queue: JobQueue, job: AnyJob) -> Asked:
    def add(job: AnyJob, hear: Any) -> Ticket:
        ticket = Ticket(job, hear, lambda *_: None)
        queue.add(ticket)
        return ticket

    return Asked(add, job)


def furnished(setup: Setup) -> JobQueue:
    """Return a queue whose worker has loaded its models."""
    queue = JobQueue()
    queued(queue, setup)
    assert queue.next() is setup
    queue.begun()
    queue.done(READY)
    return queue


def test_an_end_that_cannot_be_said_is_a_bug_and_not_a_silence() -> None:
    with running(protocol=TOY) as (engine, heard):
        engine.submit(Toy(""))
        assert heard.until(Failed).kind == "Bug"
        engine.submit(Toy("draft"))
        heard.until(Toyed)


def test_another_kind_of_job_is_a_value_an_event_and_a_handler() -> None:
    with running(protocol=TOY) as (engine, heard):
        engine.submit(Toy("draft"))
        # The worker runs as a program, whose classes are its own: on the wire they are names.
        assert heard.until(Toyed) == Toyed("tfard")


@pytest.mark.parametrize("deaths", [0, 3])
def test_every_job_hears_of_exactly_one_end_whatever_is_cancelled(
    setup: Setup, deaths: int
) -> None:
    dice = random.Random(deaths)
    engine = EngineProcess()
    asked = [Asked(engine.submit, setup)]
    assert asked[0].over.wait(WAIT_S)
    try:
        for number in range(JOBS):
            job = (
                Count("a", "four") if dice.random() < 0.2 else ask(max_tokens=dice.choice((1, 90)))
            )
            asked.append(Asked(engine.submit, job))
            for each in dice.sample(asked, min(len(asked), dice.choice((0, 0, 1, 2)))):
                each.ticket.cancel()
            time.sleep(dice.choice((0, 0, 0.02)))
            if deaths and number % (JOBS // deaths) == JOBS // deaths // 2 and engine.pid:
                os.kill(engine.pid, signal.SIGKILL)
        assert all(each.over.wait(WAIT_S) for each in asked)
    finally:
        engine.close()
    for each in asked[1:]:
        *before, end, nothing = each.heard
        assert nothing is None
        assert isinstance(end, Finished | Counted | Failed)
        assert not any(event is None or isinstance(event, Finished | Failed) for event in before)
    ends = [each.heard[-2] for each in asked]
    stops = [end.stop for end in ends if isinstance(end, Finished)]
    assert STOPPED in ends
    assert {Stop.CANCELLED, Stop.LENGTH} <= set(stops)


def test_a_cancel_that_crosses_the_end_of_its_job_does_not_stop_the_next(setup: Setup) -> None:
    worker = WorkerProcess(CHAT)
    deadline = time.monotonic() + WAIT_S

    def end() -> Any:
        heard: list[Any] = []
        while not heard or Last() not in heard[:-1]:
            assert time.monotonic() < deadline
            heard += worker.receive()
        return heard[-1]

    try:
        worker.send(setup)
        assert isinstance(end(), Ready)
        worker.send(Cancel())
        worker.send(ask(max_tokens=5))
        assert end().stop is Stop.LENGTH
    finally:
        worker.kill()
        worker.bury()


def test_a_cancel_of_a_job_that_is_over_is_not_for_the_one_that_is_done(setup: Setup) -> None:
    queue = furnished(setup)
    over, doing, waits = (queued(queue, ask()) for _ in range(3))
    queue.next()
    queue.done(Failed("", ""))
    assert queue.next() is doing.ticket.job
    assert not queue.cancel(over.ticket)
    assert queue.cancel(doing.ticket)
    assert not queue.cancel(waits.ticket)
    assert waits.heard == [STOPPED, None]
    assert not doing.heard
    assert queue.at_work is doing.ticket.job


def test_a_worker_has_one_job_at_a_time(setup: Setup) -> None:
    queue = furnished(setup)
    first, second = queued(queue, ask()), queued(queue, Count("a", "b"))
    assert queue.next() is first.ticket.job
    assert queue.next() is None
    queue.done(Counted("a", 1))
    assert queue.next() is second.ticket.job


def test_a_request_that_waits_is_steered_anyway(setup: Setup) -> None:
    queue = furnished(setup)
    doing, waits = queued(queue, ask()), queued(queue, ask())
    queue.next()
    how = Steer("ars", 7, Sampling(temperature=2))
    assert queue.steer(doing.ticket, how)
    assert not queue.steer(waits.ticket, how)
    queue.done(Counted("a", 1))
    job: Any = queue.next()
    assert (job.mode, job.lookahead, job.sampling) == ("ars", 7, Sampling(temperature=2))


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_request_hears_of_its_reload_and_may_be_stopped_in_it(
    setup: Setup, cancelled: bool
) -> None:
    queue = furnished(setup)
    queue.worker_died("It died.")
    asked, request = queued(queue, ask()), ask(mode="ars")
    assert queue.next() is setup
    assert not queue.steer(asked.ticket, Steer("ars", 3))
    queue.said(loading := Loading("target", "a", 0.5))
    assert not cancelled or queue.cancel(asked.ticket)
    queue.done(READY)
    if cancelled:
        assert asked.heard == [loading, READY, STOPPED, None]
        assert queue.next() is None
    else:
        assert queue.next() == request
        queue.said(prepared := Prepared(1, 0, 0))
        queue.done(STOPPED)
        assert asked.heard == [loading, READY, prepared, STOPPED, None]


def test_models_that_wait_to_be_loaded_outlive_a_worker_that_dies(setup: Setup) -> None:
    queue = furnished(setup)
    doing, waits, load, after = (queued(queue, job) for job in (ask(), ask(), setup, ask()))
    queue.next()
    queue.begun()
    queue.worker_died("It died.")
    died = Failed("It died.", "EngineDied")
    assert doing.heard == waits.heard == [died, None]
    assert queue.next() is setup
    queue.begun()
    queue.worker_died("It died.")
    assert load.heard == after.heard == [died, None]
