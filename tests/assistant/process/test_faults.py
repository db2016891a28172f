"""A worker that dies, hangs or garbles costs one job, which fails in a sentence."""

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from assistant.events import Decoded, Failed, Finished, Loading, Prepared, Ready, Stop, TokenCount
from assistant.process.crash_message import LOG
from assistant.process.wire import CHAT, Envelope
from assistant.process.worker_process import WorkerProcess
from assistant.request import CountTokens, EngineArgs
from models import ik
from models.engines import PACKAGES
from models.files.places import cache_dir
from tests import ROOT
from tests.assistant.process.event_log import LONG, ask, running, unread_stream
from tests.engine import needs_both
from tests.in_process_engine import BlockingEngine
from tests.patience import ALL, WAIT_S, until

FAKES = "tests.assistant.process.fakes"
PARENT = """
import asyncio, sys, time
from pathlib import Path
from assistant.events import Decoded
from assistant.process.engine_process import EngineProcess
from assistant.request import EngineArgs, Message, Request

async def main():
    engine = EngineProcess()
    async for event in engine.do(EngineArgs(Path(sys.argv[1]), threads=1, n_ctx=8192)):
        pass
    request = Request((Message("user", sys.argv[2] * 7000),), max_tokens=8000)
    async for event in engine.do(request):
        if sys.argv[2] or isinstance(event, Decoded):
            break
    print(engine.pid, flush=True)
    time.sleep(600)

asyncio.run(main())
"""


def kill(pid: int | None, number: signal.Signals = signal.SIGKILL) -> None:
    assert pid is not None
    os.kill(pid, number)


def is_gone(pid: int | None) -> bool:
    assert pid is not None
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def lose_patience(engine: BlockingEngine, seconds: float = 0.5) -> None:
    """Wait only so long for the worker that there is; the next one may take its time to start."""
    worker = engine.process._worker
    assert worker is not None
    worker.patience_s = seconds
    engine.call(worker._inbox.put_nowait, Envelope(0))  # it looks at once


def wait_until_gone(pid: int | None) -> None:
    until(lambda: is_gone(pid), lambda: "an orphan")


def orphans(setup: EngineArgs, text: str = "", code: str = PARENT) -> list[int]:
    """Kill a parent while its engine answers; return the processes that it has named."""
    arguments = [sys.executable, "-W", "ignore", "-c", code, str(setup.target), text]
    with subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [*map(int, parent.stdout.readline().split())]
        assert not any(map(is_gone, pids))
        parent.kill()
    return pids


@needs_both
@pytest.mark.skipif(sys.platform != "linux", reason="there it is not used")
def test_a_build_that_an_answer_died_of_is_not_used_for_the_next_one(
    setup: EngineArgs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ik.VARIABLE)
    monkeypatch.setattr(ik, "USED", tmp_path / "used")
    ik.USED.write_text(PACKAGES["ik"].version)
    with running(load=replace(setup, engine="ik")) as (engine, received):
        engine.submit(ask(max_tokens=LONG))
        received.until(Decoded)
        kill(engine.pid, signal.SIGILL)
        assert "`make native` is not used any more" in received.until(Failed).message
        engine.submit(ask())
        received.until(Finished)


def test_the_events_before_the_death_of_a_worker_are_heard_in_full(setup: EngineArgs) -> None:
    with running() as (engine, received):
        engine.submit(setup)
        engine.submit(ask(max_tokens=300))
        received.until(Ready)
        whole = received.until(Finished).text
        received.events.clear()
        engine.submit(ask(max_tokens=LONG))
        for _ in range(20):
            received.until(Decoded)
        kill(engine.pid)
        received.until(Failed)
        rounds = [event for event in received.events if isinstance(event, Decoded)]
        answer_text = "".join(token.text for event in rounds for token in event.tokens)
        assert len(answer_text) >= 20
        assert whole[: len(answer_text)] == answer_text[: len(whole)]


def test_a_native_abort_while_loading_names_file_and_signal(setup: EngineArgs) -> None:
    with running(f"{FAKES}.aborting") as (engine, received):
        engine.submit(setup)
        message = received.until(Failed).message
        assert setup.target.name in message
        assert "SIGABRT" in message
        assert "llama-vocab.cpp:2544: GGML_ASSERT(id_to" in (cache_dir() / LOG).read_text()


def test_garbage_from_the_worker_ends_it_in_a_sentence(setup: EngineArgs) -> None:
    with running(f"{FAKES}.garbling") as (engine, received):
        engine.submit(setup)
        failed = received.until(Failed)
        assert failed.kind == "EngineDied"
        assert "invalid message" in failed.message


def test_a_worker_that_cannot_start_is_told(monkeypatch, setup: EngineArgs) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with running() as (engine, received):
        engine.submit(setup)
        failed = received.until(Failed)
        assert failed.kind == "EngineDied"
        assert "/nowhere/python" in failed.message


def test_a_worker_that_gives_no_sign_of_life_is_ended_and_replaced(setup: EngineArgs) -> None:
    with running(load=setup) as (engine, received):
        engine.submit(ask(max_tokens=LONG))
        received.until(Decoded)
        stopped = engine.pid
        kill(stopped, signal.SIGSTOP)
        lose_patience(engine)
        failed = received.until(Failed)
        assert "no sign of life" in failed.message
        assert is_gone(stopped)
        engine.submit(ask())
        received.until(Finished)


def test_a_worker_that_hangs_while_idle_is_replaced_at_the_next_prompt(setup: EngineArgs) -> None:
    with running(load=setup) as (engine, received):
        engine.submit(ask())
        received.until(Finished)
        stopped = engine.pid
        kill(stopped, signal.SIGSTOP)
        lose_patience(engine)
        engine.submit(ask("x" * 200_000))  # more than a pipe holds
        engine.submit(ask())
        assert received.until(Failed).kind == "ContextFull"
        received.until(Finished)
        assert engine.pid != stopped


def test_a_worker_that_does_not_stop_when_told_is_ended(setup: EngineArgs) -> None:
    with running(f"{FAKES}.stubborn") as (engine, received):
        engine.submit(setup)
        received.until(Loading)
        lose_patience(engine)
        engine.cancel()
        assert "did not stop" in received.until(Failed).message


def test_a_worker_that_is_long_in_native_code_is_left_alone(setup: EngineArgs) -> None:
    """A whole text is counted in two calls of llama.cpp, and nothing is said meanwhile."""
    with running(load=setup) as (engine, received):
        engine.submit(CountTokens("x y " * 8_000_000))
        until(lambda: engine.process._worker and engine.process._worker.has_begun)  # it was read
        lose_patience(engine, 3.0)  # it has to answer a ping by then, which takes no time
        assert received.until(TokenCount).tokens == 32_000_000


def test_closing_does_not_wait_for_a_worker_that_is_stopped(setup: EngineArgs) -> None:
    with running(load=setup) as (engine, _):
        pid = engine.pid
        kill(pid, signal.SIGSTOP)
    assert is_gone(pid)


@pytest.mark.parametrize("text", ["", "x"], ids=["decoding", "reading the prompt"])
@pytest.mark.some(1)
def test_no_orphan_survives_a_parent_that_is_killed(slow: EngineArgs, text: str) -> None:
    for _ in range(3 if ALL else 1):
        (pid,) = orphans(slow, text)
        wait_until_gone(pid)


def test_ctrl_c_is_not_for_the_worker(setup: EngineArgs) -> None:
    with running(load=setup) as (engine, received):
        pid = engine.pid
        assert pid is not None
        assert os.getsid(pid) != os.getsid(0)
        kill(pid, signal.SIGINT)
        engine.submit(ask())
        assert received.until(Finished).stop is Stop.LENGTH
        assert engine.pid == pid


def test_the_worker_leaves_no_core_file(setup: EngineArgs) -> None:
    resource = pytest.importorskip("resource")
    with running(load=setup) as (engine, _):
        if not hasattr(resource, "prlimit"):
            pytest.skip("no limits of other processes on this system")
        assert engine.pid is not None
        assert resource.prlimit(engine.pid, resource.RLIMIT_CORE) == (0, 0)


async def test_a_worker_without_a_parent_ends_amid_native_code(
    slow: EngineArgs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.process.worker_process.EXIT_GRACE_S", WAIT_S)
    worker = await WorkerProcess.start(CHAT)
    await worker.do(slow, unread_stream(slow))
    stream = unread_stream(slow)
    answering = asyncio.create_task(worker.do(ask("x" * 7000), stream))
    while not isinstance(await anext(stream), Prepared):
        pass
    answering.cancel()
    assert await worker.close() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a parent's death")
def test_a_parent_whose_pipes_outlive_it_leaves_no_orphan(setup: EngineArgs) -> None:
    forks = "import os; other = os.fork() or time.sleep(600); print(other, "
    other, pid = orphans(setup, code=PARENT.replace("print(", forks))
    try:
        wait_until_gone(pid)
    finally:
        kill(other)
