"""`specchat prove` as a shell sees it, and what is said of what was found."""

import json
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from assistant.lab.protocol import Check, Proved
from assistant.request import Sampling
from models.errors import EngineDied
from tests import tiny
from tests.patience import WAIT_S
from tests.tui.shell.program import run, start
from tui.lab.prove_report import PROMISE, ProofOutcome, lines, report, verdict

PROVE = ("prove", "--threads", "1")
NOISE = {"width": 4, "rows": 48, "largest": 0.5, "flips": 1, "variation": 0.02}
RATE = {"z": -0.4, "expected": 0.81, "measured": 0.8, "trials": 800}
PARTED = {"tokens": 48, "proposed": 57, "accepted": 31, "replayed": 50, "rows": 50, "noise": 0.5}
PARTED |= {"place": 7, "apart": 0.125, "off": 0.25}
LAW = {"laws": 1, "outcomes": 22, "variation": 0.0}
CHECKS = [
    Check("enumeration", "token rule, lookahead 2", True, LAW),
    Check("mistakes", "every proposal is accepted", True, {"variation": 0.16}),
    Check("mistakes", "sampled: every proposal is accepted", None, {"power": 0.5}),
    Check("noise", "batches of 4 beside single tokens", None, NOISE),
    Check("rollback", "4 rows", True, {"rows": 8, "identical": 8, "largest": 0.0, "noise": 0.5}),
    Check("greedy", "“a task”", True, PARTED),
    Check("sampling", "“x” token rule: the first token", True, {"samples": 10, "outcomes": 2}, 0.4),
    Check("sampling", "“x” token rule: acceptance of proposal 1", True, RATE, 0.3),
]
PROVED = Proved((Path("/t.gguf"), Path("/d.gguf")), None, True, 5, 61.0)
FOUND = ProofOutcome(Sampling(), False, CHECKS, PROVED)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target that takes seconds to decode with."""
    path = tmp_path_factory.mktemp("slow") / "slow.gguf"
    return tiny.write(path, layers=48, stops=False)


@pytest.mark.thorough  # test_proof does so every day, without the program around it
def test_a_pair_is_proved_and_the_object_has_every_layer(target: Path, draft: Path) -> None:
    code, out, err = run(*PROVE, "--target", target, "--draft", draft, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["holds"], found["complete"]) == (True, True)
    assert (found["target"], found["draft"]) == (str(target), str(draft))
    assert found["promise"] == PROMISE
    assert 0 < found["false_alarm"] <= 1e-4
    layers = found["layers"]
    assert all(layers.values())
    assert all(check["holds"] is not False for checks in layers.values() for check in checks)
    assert {check["p_value"] is None for check in layers["sampling"]} == {False}
    assert "comparing samples, 2 of 3" in err
    assert "left" in err


def comparing_the_cache(target: Path) -> subprocess.Popen[str]:
    """Return a command that has begun to compare."""
    process = start(*PROVE, "--target", target, "--draft", "none")
    assert process.stderr is not None
    while "comparing the cache" not in process.stderr.readline():
        pass
    return process


def test_an_interrupt_ends_it_with_130_and_what_was_found(slow: Path) -> None:
    process = comparing_the_cache(slow)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert "total variation 0, exactly" in out
    assert "was stopped before its end" in out
    assert "By samples" not in out
    assert "Traceback" not in err


@pytest.mark.thorough  # that of tune dies every day
def test_death_of_the_engine_is_a_model_error_after_what_was_found(slow: Path) -> None:
    process = comparing_the_cache(slow)
    (engine,) = psutil.Process(process.pid).children()
    engine.send_signal(signal.SIGABRT)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 3
    assert "failed before its end" in out
    assert err.splitlines()[-1].startswith("specchat: The engine's process ended while it compared")


def test_all_that_was_found_is_said_in_80_columns() -> None:
    text = "\n".join(lines(FOUND))
    for said in (
        "token rule, lookahead 2    22 outcomes: total variation 0, exactly",
        "0.1600  found",
        "with probability 0.5",
        "the same up to token 7 of 48, where two tokens are 0.125 apart",
        "8 of 8 identical to the last bit",
        "p = 0.3",
        "accepted 0.800 for 0.810 (z -0.4)",
        "All checks pass: with this pair, speculation changes nothing but the speed.",
    ):
        assert said in text
    assert max(map(len, text.splitlines())) <= 80
    assert PROMISE in " ".join(text.split())
    assert "a batch moves a logit by 0.5 at most" in " ".join(text.split())


@pytest.mark.parametrize("check", [check for check in CHECKS if check.holds])
def test_whatever_is_broken_is_named_and_is_exit_code_1(check: Check) -> None:
    broken = replace(check, holds=False, note="a reason")
    outcome = replace(FOUND, checks=[broken if each is check else each for each in CHECKS])
    assert outcome.exit_code == 1
    assert check.what in verdict(outcome)
    assert not report(outcome)["holds"]
    said = "\n".join(lines(outcome))
    assert "BROKEN" in said or "NOT FOUND" in said


def test_verdicts_say_what_was_not_tested() -> None:
    alone = replace(PROVED, paths=(Path("/t.gguf"),), no_draft="No draft model was chosen.")
    assert "were not tested" in verdict(replace(FOUND, proved=alone))
    recurrent = replace(alone, speculates=False)
    assert "never speculates" in verdict(replace(FOUND, proved=recurrent))
    stopped = replace(FOUND, proved=None, interrupted=True)
    assert (stopped.exit_code, report(stopped)["complete"]) == (130, False)
    died = replace(FOUND, proved=None, error=EngineDied("It died."))
    assert report(died)["error"] == "It died."


def test_without_noise_the_promise_says_so() -> None:
    silent = Check("noise", "batches", None, NOISE | {"largest": 0.0})
    assert "the same to the last bit" in "\n".join(lines(replace(FOUND, checks=[silent])))
