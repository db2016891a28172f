"""`EngineProcess`: jobs are done in order, and every stream ends once."""

import asyncio
import os
import random
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assistant.events import (
    Failed,
    Finished,
    Loading,
    ModelInfo,
    Prefilled,
    Prepared,
    RaceReady,
    Ready,
    Stop,
    TokenCount,
)
from assistant.process.engine_process import CLOSED, NO_MODEL, STOPPED, EngineProcess
from assistant.process.wire import CHAT, Envelope
from assistant.process.worker_process import INBOX, WorkerProcess
from assistant.request import (
    AnyJob,
    Cancel,
    CountTokens,
    EngineArgs,
    Lane,
    Prefill,
    Race,
    Request,
    Sampling,
    UpdateRequest,
)
from assistant.service import EventStream
from assistant.stats import Stats
from models.errors import OtherEngine
from tests.assistant.process.event_log import LONG, ask, unread_stream
from tests.patience import WAIT_S

JOBS = 60
READY = Ready(ModelInfo("target", "a", Path("a.gguf"), 1), None, None)
DONE = TokenCount(1)
PREPARED = Prepared(1, 0, 0)
LOADING = Loading("target", "a", 0.5)
FAILED = Failed("It is gone.", "ModelError")


class Puppet(WorkerProcess):
    """A worker that says what a test has it say."""

    pid, patience_s = 0, WAIT_S

    def __init__(self) -> None:
        super().__init__(None, CHAT)  # type: ignore[arg-type]
        self.sent: list[Any] = []
        self.closed = False

    def _send(self, content: object) -> None:
        self.sent.append(content)

    def says(self, *events: object, end: object = None) -> None:
        """Say something of its job, and perhaps the end of it."""
        for event in (None, *events):
            self._inbox.put_nowait(Envelope(self._number, event))
        if end is not None:
            self._inbox.put_nowait(Envelope(self._number, end, last=True))

    def dies(self) -> None:
        self._inbox.put_nowait(None)

    def kill(self) -> None: ...

    async def close(self) -> int | None:
        self.closed = True
        return -signal.SIGABRT


class Puppets(EngineProcess):
    """An engine whose workers are puppets."""

    def __init__(self) -> None:
        super().__init__()
        self.workers: list[Puppet] = []

    async def _start(self) -> WorkerProcess:
        self.workers.append(Puppet())
        return self.workers[-1]

    @property
    def last(self) -> Puppet:
        return self.workers[-1]


async def rest() -> None:
    """Let all that can go on go on."""
    for _ in range(20):
        await asyncio.sleep(0)


async def events_of(stream: EventStream) -> list[Any]:
    return [event async for event in stream]


@pytest.fixture
async def engine(setup: EngineArgs) -> Puppets:
    """Return an engine whose worker has loaded its models."""
    engine = Puppets()
    loading = engine.do(setup)
    await rest()
    engine.last.says(end=READY)
    assert await events_of(loading) == [READY]
    return engine


class SlowPuppets(Puppets):
    """An engine whose workers are there only after others have had their turns."""

    async def _start(self) -> WorkerProcess:
        await rest()
        return await super()._start()


@pytest.mark.parametrize("end", ["do", "start", "close"])
async def test_one_worker_is_started_however_many_ask_for_it(setup: EngineArgs, end: str) -> None:
    engine = SlowPuppets()
    starting = asyncio.create_task(engine.start())
    await asyncio.sleep(0)
    if end == "do":
        engine.do(setup)
    other = asyncio.create_task(engine.close() if end == "close" else engine.start())
    await asyncio.gather(starting, other)
    await rest()
    assert len(engine.workers) == 1
    assert engine.last.closed == (end == "close")
    await engine.close()
    await engine.start()
    assert [worker.closed for worker in engine.workers] == [True]


@pytest.mark.parametrize("deaths", [0, 3])
async def test_every_stream_ends_once_whatever_is_cancelled(setup: EngineArgs, deaths: int) -> None:
    dice = random.Random(deaths)
    engine = EngineProcess()
    await events_of(engine.do(setup))
    streams: list[EventStream] = []
    for number in range(JOBS):
        job: AnyJob = ask(max_tokens=dice.choice((1, 90)))
        streams.append(engine.do(CountTokens("four") if dice.random() < 0.2 else job))
        for each in dice.sample(streams, min(len(streams), dice.choice((0, 0, 1, 2)))):
            each.cancel()
        await asyncio.sleep(dice.choice((0, 0, 0.02)))
        if deaths and number % (JOBS // deaths) == JOBS // deaths // 2 and engine.pid:
            os.kill(engine.pid, signal.SIGKILL)
    async with asyncio.timeout(WAIT_S):
        received = [await events_of(stream) for stream in streams]
    await engine.close()
    for *before, end in received:
        assert isinstance(end, Finished | TokenCount | Failed)
        assert not any(isinstance(event, Finished | Failed) for event in before)
    ends = [events[-1] for events in received]
    assert STOPPED in ends
    assert any(isinstance(end, Finished) for end in ends)


@pytest.mark.parametrize(
    "job", [ask(), CountTokens("b"), Prefill(ask())], ids=lambda job: type(job).__name__
)
async def test_reading_ahead_gives_way_to_any_job(engine: Puppets, job: AnyJob) -> None:
    reading = engine.do(Prefill(ask()))
    await rest()
    engine.last.says(Prefilled("target", 1, 2))
    engine.do(job)
    await rest()
    assert isinstance(engine.last.sent[-1], Cancel)
    stopped = Failed("Stopped.", "Cancelled")
    engine.last.says(end=stopped)
    assert await events_of(reading) == [Prefilled("target", 1, 2), stopped]
    await rest()
    assert engine.last.sent[-1] == job


async def test_a_waiting_prefill_is_never_begun_once_another_job_waits(engine: Puppets) -> None:
    engine.do(ask())
    reading, counting = engine.do(Prefill(ask())), engine.do(CountTokens("b"))
    assert await events_of(reading) == [STOPPED]
    await rest()
    engine.last.says(end=Finished("", (), Stop.LENGTH, Stats("ars")))
    await rest()
    assert engine.last.sent[-1] == counting.job


@pytest.mark.parametrize("job", [Prefill(ask()), CountTokens("b")], ids=["read", "count"])
async def test_nothing_is_loaded_to_read_ahead_or_to_count(engine: Puppets, job: AnyJob) -> None:
    answering = engine.do(ask())
    await rest()
    engine.last.says(PREPARED)
    engine.last.dies()
    assert isinstance((await events_of(answering))[-1], Failed)
    assert await events_of(engine.do(job)) == [NO_MODEL]
    assert len(engine.workers) == 1


async def test_a_reload_that_fails_is_how_the_request_ends(
    engine: Puppets, setup: EngineArgs
) -> None:
    engine.last.dies()
    for count in (1, 2):
        asked = engine.do(ask())
        await rest()
        engine.last.says(end=FAILED)
        assert await events_of(asked) == [FAILED]
        await rest()
        assert engine.last.sent == [setup] * count  # it is not tried forever


async def test_closing_ends_every_stream(engine: Puppets) -> None:
    doing, waits = engine.do(ask()), engine.do(ask())
    await rest()
    engine.last.says(PREPARED)
    await rest()
    await engine.close()
    assert await events_of(doing) == [PREPARED, CLOSED]
    assert await events_of(waits) == await events_of(engine.do(ask())) == [CLOSED]
    doing.cancel()
    waits.update("ars")


async def test_a_reader_may_end_its_stream_and_the_job_is_stopped(engine: Puppets) -> None:
    doing, waits = engine.do(ask()), engine.do(ask())
    await rest()
    for stream in (doing, waits):
        stream.end(DONE)
        assert await events_of(stream) == [DONE]
    assert engine.last.sent[-1] == Cancel()
    engine.last.says(PREPARED, end=DONE)
    await rest()
    assert engine.last.job is None


async def test_a_cancel_that_crosses_the_end_of_its_job_stops_no_other(setup: EngineArgs) -> None:
    worker = await WorkerProcess.start(CHAT)
    await worker.do(setup, unread_stream(setup))
    worker.cancel()
    end: Any = await worker.do(ask(max_tokens=5), unread_stream(setup))
    assert end.stop is Stop.LENGTH
    worker.kill()
    await worker.close()


async def test_a_cancel_of_a_finished_job_is_not_for_the_current_one(engine: Puppets) -> None:
    over, doing, waits = engine.do(ask()), engine.do(ask()), engine.do(ask())
    await rest()
    engine.last.says(end=DONE)
    await rest()
    over.cancel()
    waits.cancel()
    assert await events_of(waits) == [STOPPED]
    assert Cancel() not in engine.last.sent
    doing.cancel()
    assert engine.last.sent[-1] == Cancel()
    engine.last.says(end=DONE)
    assert await events_of(doing) == [DONE]


async def test_a_request_that_waits_is_steered_anyway(engine: Puppets) -> None:
    doing, waits = engine.do(ask()), engine.do(ask())
    await rest()
    doing.update("ars", 2)
    assert engine.last.sent[-1] == UpdateRequest("ars", 2)
    waits.update("ars", 7, Sampling(temperature=2))
    engine.last.says(end=DONE)
    await rest()
    job: Request = engine.last.sent[-1]
    assert (job.mode, job.lookahead, job.sampling) == ("ars", 7, Sampling(temperature=2))


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_request_can_be_updated_in_its_reload(
    engine: Puppets, setup: EngineArgs, cancelled: bool
) -> None:
    engine.last.dies()
    asked = engine.do(ask())
    await rest()
    assert engine.last.sent == [setup]
    asked.update("ars", 3)
    engine.last.says(LOADING)
    await rest()
    if cancelled:
        asked.cancel()
    engine.last.says(end=READY)
    if cancelled:
        assert await events_of(asked) == [LOADING, READY, STOPPED]
        assert engine.last.sent == [setup, Cancel()]
    else:
        await rest()
        assert engine.last.sent == [setup, ask(mode="ars")]
        engine.last.says(PREPARED, end=DONE)
        assert await events_of(asked) == [LOADING, READY, PREPARED, DONE]


async def test_models_that_wait_to_be_loaded_outlive_a_worker_that_dies(
    engine: Puppets, setup: EngineArgs
) -> None:
    doing, waits, load, after = (engine.do(job) for job in (ask(), ask(), setup, ask()))
    await rest()
    engine.last.says(PREPARED)
    engine.last.dies()
    assert isinstance((await events_of(doing))[-1], Failed)
    assert isinstance((await events_of(waits))[-1], Failed)
    await rest()
    assert engine.last.sent == [setup]
    engine.last.dies()
    assert [each.kind for each in await events_of(load)] == ["EngineDied"]
    assert [each.kind for each in await events_of(after)] == ["EngineDied"]
    assert len(engine.workers) == 2


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_worker_with_another_engine_is_replaced(
    engine: Puppets, setup: EngineArgs, cancelled: bool
) -> None:
    stream = engine.do(setup)
    await rest()
    if cancelled:
        stream.cancel()
    engine.last.says(end=Failed("", OtherEngine.__name__))
    await rest()
    if cancelled:
        assert await events_of(stream) == [STOPPED]
    else:
        assert engine.last.sent == [setup]
        engine.last.says(end=READY)
        assert await events_of(stream) == [READY]
    assert len(engine.workers) == (1 if cancelled else 2)


@pytest.mark.parametrize("cancelled", [False, True])
async def test_the_engines_of_a_race_load_one_after_another(
    setup: EngineArgs, cancelled: bool
) -> None:
    """Else each would measure what the other computes as the costs of its models."""
    engine, other = Puppets(), Puppets()
    engine._others["ik"] = other
    lanes = (Lane("a", setup, "ars"), Lane("b", replace(setup, engine="ik"), "ars"))
    race = engine.do(Race(lanes, ask()))
    await rest()
    if cancelled:
        race.cancel()
    assert (len(engine.workers), len(other.workers)) == (1, 0)
    engine.last.says(RaceReady((READY,)))
    await rest()
    assert len(other.workers) == (0 if cancelled else 1)
    await engine.close()
    assert await events_of(race)


async def test_an_event_loop_that_was_held_up_does_not_end_its_worker(engine: Puppets) -> None:
    """As that of a command which is stopped, or writes to somebody who does not read."""
    engine.last.patience_s = 0.2
    stream = engine.do(ask())
    await rest()
    asyncio.get_running_loop().call_soon(partial(engine.last.says, end=DONE))
    time.sleep(0.5)
    assert await events_of(stream) == [DONE]
    assert len(engine.workers) == 1


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_stream_that_is_not_read_holds_the_engine_up(
    setup: EngineArgs, monkeypatch: pytest.MonkeyPatch, cancelled: bool
) -> None:
    monkeypatch.setattr("assistant.service.MAX_QUEUED", 20)
    engine = EngineProcess()
    await events_of(engine.do(setup))
    stream = engine.do(ask(max_tokens=LONG if cancelled else 1500, mode="ars", lookahead=None))
    worker = engine._worker
    assert worker is not None
    async with asyncio.timeout(WAIT_S):
        while not worker._inbox.full():
            await asyncio.sleep(0.01)
    assert stream._queued.qsize() == 20
    if cancelled:
        stream.cancel()
    *decoded, end = await events_of(stream)
    assert len(decoded) > 20 + INBOX
    assert end.stop is (Stop.CANCELLED if cancelled else Stop.LENGTH)
    await engine.close()


async def test_closing_waits_for_no_reader(setup: EngineArgs, monkeypatch) -> None:
    monkeypatch.setattr("assistant.service.MAX_QUEUED", 5)
    engine = EngineProcess()
    await events_of(engine.do(setup))
    stream = engine.do(ask(max_tokens=LONG))
    while stream._queued.qsize() < 5:
        await asyncio.sleep(0.01)
    await engine.close()
    assert (await events_of(stream))[-1] == CLOSED
