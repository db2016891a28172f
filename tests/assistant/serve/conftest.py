"""An endpoint on a free port, with its engine in a process of its own."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

import openai
import pytest

from assistant.events import Failed, Finished, Ready, Stats, Stop
from assistant.process.engine_process import STOPPED, EngineProcess
from assistant.request import AnyJob, EngineArgs, Prefill, Request, Sampling
from assistant.serve.connection import listen
from assistant.serve.endpoint import Endpoint
from assistant.serve.exchange import Exchange
from assistant.serve.guard import Guard
from assistant.service import EventStream
from tests.patience import WAIT_S, until

# Varied, except for the control tokens, which are not among the likelier half.
USUAL = Request((), Sampling(temperature=8, top_k=100, top_p=1), max_tokens=20)

ORIGINS = ("app://obsidian.md", "http://localhost:3000")


def finished(text: str, tokens: tuple[int, ...], **more: Any) -> Finished:
    """Return the end of an answer."""
    return Finished(text, tokens, Stop.STOP_TOKEN, Stats("auto"), **more)


class Watched(EngineProcess):
    """An engine, and how what it was asked has ended."""

    def __init__(self) -> None:
        self.ends: list[Finished | Failed] = []
        self.read: list[EventStream] = []
        self.asked: list[EventStream] = []
        super().__init__()

    def do(self, job: AnyJob) -> EventStream:
        stream = super().do(job)
        if isinstance(job, Prefill):
            self.read.append(stream)
            return stream
        self.asked.append(stream)
        put = stream.put

        def watched(event: object, last: bool = False) -> None:
            if isinstance(event, Finished | Failed):
                self.ends.append(event)
            put(event, last)

        stream.put = watched  # type: ignore[method-assign]
        return stream

    @property
    def answers(self) -> bool:
        """Whether its process has begun a job."""
        worker = self._worker
        return worker is not None and worker.job is not None and worker.has_begun


class Running:
    """An endpoint, in a thread that has its event loop."""

    reads_ahead = False

    def __init__(
        self, setup: EngineArgs, token: str | None = None, engine: Watched | None = None
    ) -> None:
        self.served: list[Exchange] = []
        self.notices: list[str] = []
        self.engine = engine or Watched()
        self._setup, self._token = setup, token
        self._clients: list[openai.OpenAI] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._loop, self._until = asyncio.new_event_loop(), asyncio.Event()
        self._thread = Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self._thread.start()

    async def _run(self) -> None:
        try:
            ready = [event async for event in self.engine.do(self._setup)][-1]
            assert isinstance(ready, Ready), ready
            guard = Guard(self._token, ORIGINS)
            callbacks = self.served.append, self.notices.append, lambda: self.reads_ahead
            self.endpoint = Endpoint(self.engine, "tiny", ready, USUAL, guard, *callbacks)
            await listen(self.endpoint, self._listening, self._until, self.endpoint.stop)
        finally:
            await self.engine.close()

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def stopped(self) -> int:
        """Count the answers that were stopped before they were whole."""
        ends = self.engine.ends
        return sum(end == STOPPED or getattr(end, "stop", None) is Stop.CANCELLED for end in ends)

    def kill_engine(self) -> None:
        pid = self.engine.pid
        assert pid
        os.kill(pid, signal.SIGKILL)

    def client(self, key: str = "none") -> Any:
        address = f"http://127.0.0.1:{self.port}/v1"
        client = openai.OpenAI(base_url=address, api_key=key, max_retries=0, timeout=WAIT_S)
        self._clients.append(client)
        return client

    def post(self, path: str, body: object) -> tuple[int, bytes]:
        """Return the status and the body of a response."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)) as client:
            client.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = client.getresponse()
            return response.status, response.read()

    def answer(self, path: str, body: object) -> Any:
        """Return the object that answers a request."""
        status, answer = self.post(path, body)
        assert status == 200, answer
        return json.loads(answer)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)

    def until(self, condition: Callable[[], object]) -> None:
        until(condition, lambda: self.served)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._until.set)

    def close(self) -> None:
        self.stop()
        self._thread.join(WAIT_S)
        for client in self._clients:
            client.close()
        self._loop.close()
        self._listening.close()


@contextmanager
def serving(
    target: Path, draft: Path | None = None, token: str | None = None, **how: Any
) -> Iterator[Running]:
    """Serve a target, or a pair."""
    setup = EngineArgs(target, draft, threads=1, memory=1 << 29, **how)
    with closing(Running(setup, token)) as endpoint:
        yield endpoint


@pytest.fixture(scope="package")
def running(tiny_target: Path, tiny_draft: Path) -> Iterator[Running]:
    with serving(tiny_target, tiny_draft, n_ctx=1024) as endpoint:
        yield endpoint


@pytest.fixture(scope="package")
def slow(slow_target: Path) -> Iterator[Running]:
    """One whose answers take seconds, and which demands a token."""
    with serving(slow_target, n_ctx=8192, measure=False, token="sesame") as endpoint:
        yield endpoint
