"""The worker can open no connection, where the system has landlock."""

import sys
from pathlib import Path

import pytest

from assistant.events import Finished, Ready
from assistant.request import EngineArgs
from tests.assistant.process.event_log import ask, running
from tests.assistant.process.landlock import connect_bound


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
