"""The engine's process can open no connection, where the system can see to that."""

import socket
import sys
from pathlib import Path

import pytest

from assistant.events import Finished, Ready
from assistant.request import EngineArgs
from tests.assistant.process.driving import ask, running
from tests.scripts import printed

TRY = """
import socket, sys, threading
from models.child_process import forbid_connections
if "free" not in sys.argv and not forbid_connections():
    print("unsupported")
    sys.exit()
def attempt():
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
        print("connected")
    except PermissionError:
        print("refused")
thread = threading.Thread(target=attempt)
thread.start()
thread.join()
"""


def attempt(*how: str) -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        return printed(TRY, port, *how).strip()


def test_a_connection_is_refused_also_to_threads_that_come_later() -> None:
    assert attempt("free") == "connected"
    if (outcome := attempt()) == "unsupported":
        pytest.skip("this system has no Landlock for the network")
    assert outcome == "refused"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_worker_is_bound_answers_and_loads_again(setup: EngineArgs) -> None:
    supported = attempt() == "refused"
    with running() as (engine, heard):
        for _ in range(2):
            engine.submit(setup)
            heard.until(Ready)
        engine.submit(ask())
        heard.until(Finished)
        status = Path(f"/proc/{engine.pid}/status").read_text()
        assert ("NoNewPrivs:\t1" in status) == supported
