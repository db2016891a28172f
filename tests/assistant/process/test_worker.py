"""A worker can open no connection, where the system has landlock; when it ends it copies models."""

import sys
from pathlib import Path

import pytest

from assistant.events import Finished, Ready
from assistant.request import EngineArgs
from tests.assistant.process.event_log import ask, running
from tests.assistant.process.landlock import connect_bound
from tests.scripts import printed

ENDING = """
import os, sys
from pathlib import Path
from threading import Thread
from assistant.process import wire, worker
from assistant.process.wire import CHAT, Envelope
from assistant.request import EngineArgs
from models.native import repacked

repacked._is_wanted = lambda source: print(source, flush=True)
(commands, send), (receive, events) = os.pipe(), os.pipe()
setup = EngineArgs(Path(sys.argv[1]), n_ctx=512, threads=1, copies=sys.argv[2] == "True")
serving = Thread(target=worker.serve, args=(commands, events, *worker.chat()))
serving.start()
os.write(send, wire.frame(CHAT.commands.encode(Envelope(1, setup))))
pipe = os.fdopen(receive, "rb")
while not CHAT.messages.decode(wire.read(pipe)).last:
    pass
os.close(send)
serving.join()
"""


def test_a_connection_is_refused_also_to_threads_that_come_later() -> None:
    assert connect_bound("free") == "connected"
    if (outcome := connect_bound()) == "unsupported":
        pytest.skip("this system has no Landlock for the network")
    assert outcome == "refused"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_worker_is_bound_answers_and_loads_again(setup: EngineArgs) -> None:
    supported = connect_bound() == "refused"
    with running() as (engine, received):
        for _ in range(2):
            engine.submit(setup)
            received.until(Ready)
        engine.submit(ask())
        received.until(Finished)
        status = Path(f"/proc/{engine.pid}/status").read_text()
        assert ("NoNewPrivs:\t1" in status) == supported


@pytest.mark.parametrize("copies", [True, False])
def test_a_worker_whose_client_leaves_has_copies_made_if_that_is_wanted(tiny_target, copies):
    assert printed(ENDING, tiny_target, copies).split() == [str(tiny_target)] * copies
