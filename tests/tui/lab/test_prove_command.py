"""`specchat prove` as a shell sees it, and its verdicts."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.lab.protocol import Check, Proved
from models.errors import EngineDied
from tests import tiny
from tests.models.files.stores import odd
from tests.tui.shell.program import run, run_until
from tui.lab.prove import PROMISE, TITLES, tables, verdict
from tui.lab.tables import lines

PROVE = ("prove", "--threads", "1")
NOISE = {"rows": 48.0, "other best tokens": 2.0, "largest difference": 0.5, "relative error": 0.02}
PARTED = {"tokens": 48.0, "proposed": 57, "accepted": 31, "parting": 7, "off": 0.25}
CHECKS = [
    Check("noise", "batches of 4 beside single tokens", True, NOISE),
    Check("greedy", "“a task”", True, PARTED),
    Check("restored", "a snapshot", None, note="there was no room for a snapshot"),
    Check("samples", "“x” token rule", True, {"answers": 2500.0, "proposed by tail": 12}, 0.4),
]
PROVED = Proved((Path("/t.gguf"), Path("/d.gguf")), None, True, 5, 61.0)


@pytest.mark.thorough  # test_proof does so every day, without the program around it
def test_a_pair_is_proved_and_the_object_has_every_layer(target: Path, draft: Path) -> None:
    code, out, err = run(*PROVE, "--target", target, "--draft", draft, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["holds"], found["complete"]) == (True, True)
    assert (found["target"], found["draft"]) == (str(target), str(draft))
    assert (found["promise"], found["false_alarm"]) == (PROMISE, 1e-6)
    assert found["layers"].keys() == TITLES.keys()
    assert all(found["layers"].values())
    assert "comparing samples" in err
    assert "left" in err


def test_an_interrupt_ends_it_with_130_and_what_was_found(tmp_path: Path) -> None:
    slow = tiny.write(tmp_path / "slow.gguf", layers=48, stops=False)  # takes seconds to decode
    code, out, _ = run_until("comparing noise", *PROVE, "--target", slow, "--draft", "none")
    assert code == 130
    assert TITLES["noise"] in out
    assert "was stopped before its end" in out
    assert TITLES["samples"] not in out


@pytest.mark.parametrize("command", [PROVE, ("tune",), ("bench", "prompts")])
def test_nothing_is_measured_without_the_draft_that_was_named(command, target: Path) -> None:
    code, out, err = run(*command, "--target", target, "--draft", "nosuch")
    assert (code, out) == (3, "")
    assert "No model is called 'nosuch'." in err
    assert len(err.splitlines()) == 1


def test_a_draft_that_cannot_propose_is_no_proof(target: Path, tmp_path: Path) -> None:
    adapter = odd(tmp_path / "x.gguf", "llama", "adapter")
    code, out, err = run(*PROVE, "--target", target, "--draft", adapter)
    assert code == 3
    assert "All checks pass" not in out
    assert f"The pair cannot be proved. {adapter} is a LoRA adapter" in err


def text(checks: list[Check]) -> str:
    return "\n".join(line for table in tables(checks) for line in lines(table))


def test_all_that_was_found_is_said_in_80_columns() -> None:
    rows = [line.split() for line in text(CHECKS).splitlines()]
    for name, *figures in (
        ("task”", "48", "57", "31", "7", "0.25"),
        ("rule", "2,500", "12", "0.4"),
    ):
        assert any(row[-len(figures) - 1 :] == [name, *figures] for row in rows)
    assert "rows 48, other best tokens 2, largest difference 0.5, relative" in text(CHECKS)
    assert "NOT TESTED a snapshot  there was no room" in text(CHECKS)
    assert max(map(len, text(CHECKS).splitlines())) <= 80
    verdicts = verdict(CHECKS, PROVED)
    assert "All checks pass: with t and d, speculation changes nothing but the speed." in verdicts
    assert PROMISE in verdicts
    assert "a batch moves a logit by 0.5 at most" in verdicts


def test_a_broken_check_is_named() -> None:
    broken = replace(CHECKS[0], holds=False, note="a reason")
    assert f"{broken.layer}: {broken.what}" in verdict([broken], PROVED)
    assert f"  BROKEN {broken.what}\n    a reason, rows 48, " in text([broken])


def test_verdicts_say_what_was_not_tested() -> None:
    alone = replace(PROVED, paths=(Path("/t.gguf"),), no_draft="No model was chosen to guess.")
    assert "No model was chosen to guess. Only copies were proposed." in verdict(CHECKS, alone)
    assert "never speculates" in verdict(CHECKS[:1], replace(alone, speculates=False))
    assert "was stopped before its end" in verdict(CHECKS, None)
    assert "failed before its end" in verdict(CHECKS, None, EngineDied("It died."))


def test_a_check_that_fails_is_exit_code_1(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.lab.prove.replay.ERROR", -1.0)
    monkeypatch.setattr("assistant.lab.prove.proof.QUICK", (50, 8, 1, 1))
    code, out, _ = run(*PROVE, "--target", target, "--draft", "none")
    assert code == 1
    assert "BROKEN batches of 2" in out
    assert "Please report it" in " ".join(out.split())
