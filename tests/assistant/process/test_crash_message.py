"""Each way to die has its sentence, in which the user reads what to do."""

import signal
from pathlib import Path
from typing import get_args

import pytest

from assistant.lab.protocol import LabJob, Lockstep, Prove, Tune
from assistant.process.crash_message import CAUSES, crash_message
from assistant.request import AnyJob, Count, Race, Setup
from models import engines
from tests.assistant.process.driving import ask

SETUP = Setup(Path("/models/big.gguf"), Path("/models/small.gguf"))


def test_every_signal_has_a_sentence_of_its_own() -> None:
    said = {crash_message(ask(), -number, "") for number in CAUSES}
    assert len(said) == len(CAUSES)
    assert {signal.SIGILL, signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT, signal.SIGBUS} <= {
        *CAUSES
    }
    for number in CAUSES:
        assert signal.Signals(number).name in crash_message(ask(), -number, "")


def test_the_sentence_says_what_it_was_at_and_what_to_do() -> None:
    assert "is kept; ask again" in crash_message(ask(), -signal.SIGSEGV, "")
    assert "choose another model" in crash_message(SETUP, -signal.SIGABRT, "")
    assert "smaller" in crash_message(SETUP, -signal.SIGKILL, "")
    assert "doctor" in crash_message(SETUP, -signal.SIGILL, "")
    assert "doctor" in crash_message(ask(), 1, "")


def test_what_one_engine_died_of_is_for_the_other_where_that_is_not_installed(monkeypatch) -> None:
    monkeypatch.setattr(engines, "installed", lambda: ["ik"])
    assert "Install it with: make" in crash_message(SETUP, -signal.SIGABRT, "")
    assert "Install it" not in crash_message(SETUP, -signal.SIGKILL, "")


DOING: dict[type, tuple[AnyJob, str, str]] = {
    Setup: (SETUP, "loaded big.gguf and small.gguf", "Check the file"),
    type(ask()): (ask(), "answered", "ask again"),
    Race: (Race((), ask()), "ran the race", "ask again"),
    Count: (Count("a", "b"), "answered", "ask again"),
    Tune: (Tune(SETUP), "measured this machine", "Check the file"),
    Lockstep: (Lockstep(()), "measured answers", "What was measured so far is kept."),
    Prove: (Prove(SETUP), "compared SpS with ArS", "Check the file"),
}


@pytest.mark.parametrize("kind", get_args(LabJob), ids=lambda kind: kind.__name__)
def test_every_job_says_what_it_was_and_what_is_left_of_it(kind: type) -> None:
    job, doing, kept = DOING[kind]
    said = crash_message(job, -signal.SIGSEGV, "")
    assert f"while it {doing} (" in said
    assert kept in said


@pytest.mark.parametrize("status", [None, 0, 3, -63, -200])
def test_a_strange_status_is_no_trouble(status: int | None) -> None:
    assert "(" in crash_message(None, status, "")


def test_only_a_line_that_tells_something_is_quoted_and_not_all_of_it() -> None:
    words = "loading\n/a/b/c.cpp:3: GGML_ASSERT(x) failed\nmore noise\n"
    assert "(SIGABRT: llama.cpp gave up: c.cpp:3: GGML_ASSERT(x) failed)" in crash_message(
        ask(), -signal.SIGABRT, words
    )
    assert "noise" not in crash_message(ask(), -signal.SIGABRT, words)
    assert len(crash_message(ask(), -signal.SIGABRT, "error: " + "x" * 9000)) < 600
