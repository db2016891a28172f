"""`crash_message`: one sentence for each way in which a worker dies."""

import re
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from assistant.lab.protocol import LabJob, Lockstep, Prove, Tune
from assistant.process.crash_message import CAUSES, LOG, crash_message
from assistant.process.worker_process import WorkerDied
from assistant.request import AnyJob, CountTokens, EngineArgs, Prefill, Race
from models import engines, ik
from models.engines import PACKAGES
from models.files.places import cache_dir
from tests.assistant.process.event_log import ask

SETUP = EngineArgs(Path("/models/big.gguf"), Path("/models/small.gguf"))


def message(job: AnyJob, status: int | None, words: str, loaded: EngineArgs | None = None) -> str:
    return crash_message(job, WorkerDied(status, words, ""), loaded)


def test_every_signal_has_a_sentence_of_its_own() -> None:
    sentence = {message(ask(), -number, "") for number in CAUSES}
    assert len(sentence) == len(CAUSES)
    assert {signal.SIGILL, signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT, signal.SIGBUS} <= {
        *CAUSES
    }
    for number in CAUSES:
        assert signal.Signals(number).name in message(ask(), -number, "")


def test_the_sentence_says_what_it_was_at_and_what_to_do() -> None:
    assert "). Ask again: the models" in message(ask(), -signal.SIGSEGV, "")
    assert "choose another model" in message(SETUP, -signal.SIGABRT, "")
    assert "smaller" in message(SETUP, -signal.SIGKILL, "")
    assert "doctor" in message(SETUP, -signal.SIGILL, "")
    assert "doctor" in message(ask(), 1, "")


def test_a_crash_names_the_other_engine_where_that_is_not_installed(monkeypatch) -> None:
    monkeypatch.setattr(engines, "installed", lambda: ["ik"])
    assert "Install it with: make" in message(SETUP, -signal.SIGABRT, "")
    assert "Install it" not in message(SETUP, -signal.SIGKILL, "")


@pytest.mark.skipif(sys.platform != "linux", reason="not used there")
@pytest.mark.parametrize(
    ("engine", "status"), [("ik", signal.SIGKILL), ("llama", signal.SIGSEGV), ("ik", signal.SIGILL)]
)
def test_a_build_that_may_have_crashed_is_removed(tmp_path, monkeypatch, engine, status) -> None:
    monkeypatch.delenv(ik.VARIABLE, raising=False)
    monkeypatch.setattr(ik, "USED", tmp_path / "used")
    ik.USED.write_text(PACKAGES["ik"].version)
    sentence = message(ask(), -status, "", replace(SETUP, engine=engine))
    goes = (engine, status) == ("ik", signal.SIGILL)
    gone = ik.compiled_library() is None
    assert ("`make native` is not used any more" in sentence) == gone == goes


@pytest.mark.parametrize("kind", get_args(LabJob), ids=lambda kind: kind.__name__)
def test_a_job_that_names_models_says_which_may_be_to_blame(kind: type) -> None:
    of_chat = SETUP, ask(), Prefill(ask()), Race((), ask()), CountTokens("b")
    jobs = *of_chat, Tune(SETUP), Lockstep(()), Prove(SETUP)
    (job,) = (job for job in jobs if type(job) is kind)
    sentence = message(job, -signal.SIGSEGV, "")
    names = job is SETUP or hasattr(job, "setup")
    assert ("big.gguf and small.gguf (" in sentence, "Check the file" in sentence) == (names, names)


@pytest.mark.parametrize("status", [None, 0, 3, -63, -200])
def test_a_strange_status_is_no_trouble(status: int | None) -> None:
    assert "(" in message(None, status, "")


def test_the_output_of_a_library_is_in_a_log_and_not_quoted() -> None:
    words = "loading\n/a/b/c.cpp:3: GGML_ASSERT(x) failed\nwhat(): std::bad_alloc\n"
    for status in (-signal.SIGABRT, None, 1):
        sentence = message(SETUP, status, words)
        assert not re.search(r"GGML|c\.cpp|what\(|bad_alloc", sentence)
        assert "memory ran out" in sentence
        assert "Try a smaller model" in sentence
        assert (cache_dir() / LOG).read_text() == words
        assert str(cache_dir() / LOG) in sentence
    assert LOG not in message(SETUP, -signal.SIGABRT, " \n")


def test_only_the_line_in_which_python_names_the_fault_is_quoted_and_not_all_of_it() -> None:
    words = "loading\n/a/b/c.py: ImportError: no x\nmore noise\n"
    assert "(exit code 1: c.py: ImportError: no x)" in message(ask(), 1, words)
    assert len(message(ask(), 1, "error: " + "x" * 9000)) < 600
