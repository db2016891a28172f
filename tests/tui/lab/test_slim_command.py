"""`specchat models slim`: what it prints, keeps and refuses."""

import json
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from assistant.lab.slim import search as searching
from assistant.lab.slim.draft_bench import DraftFigures, SpeedForecast
from models.drafts import Pairing, best_draft, made_here
from models.errors import ModelError, ModelMissing, UsageError
from models.files.discovery import discover, identify
from models.gguf import read_vocabulary, summarise
from models.mapping import Mapping
from tests import tiny
from tests.patience import WAIT_S
from tests.tui.shell.program import endless, start
from tui.models.command import models
from tui.models.locate_pair import find_models
from tui.settings.settings import Settings

WORDS = tuple(f" word{i}" for i in range(600))
N_VOCAB = 259 + len(WORDS)


@pytest.fixture
def here(bare_machine, monkeypatch):
    """A machine with a target and a draft among specchat's own models."""
    folder = bare_machine / "models"
    folder.mkdir()
    tiny.write(folder / "target.gguf", layers=8, words=WORDS, stops=False)
    tiny.write(folder / "draft.gguf", seed=2, like=0, layers=2, words=WORDS, stops=False)
    monkeypatch.setattr(searching, "SIZES", (300,))
    monkeypatch.setattr(searching, "ANSWER_TOKENS", 6)
    return folder


class Scripted:
    """Figures that do not depend on how fast the machine is: the fewer tokens, the better."""

    gain = 0.5

    def __init__(self, *arguments) -> None:
        pass

    def measure(self, draft):
        path = draft.weights.path
        speedup = 1 + self.gain * (1 - summarise(path).n_vocab / N_VOCAB)
        return DraftFigures(path.stat().st_size, 0.5, 0.9, 0.8, SpeedForecast(speedup, (3,)))


class Useless(Scripted):
    gain = 0.0


@pytest.fixture
def scripted(monkeypatch):
    monkeypatch.setattr(searching, "DraftBench", Scripted)


def run(*arguments):
    result = CliRunner().invoke(models, ["slim", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.thorough
def test_slim_measures_with_the_models_themselves(here):
    result = run(here / "target.gguf", "--json")
    facts = json.loads(result.stdout)
    names = [trial["name"] for trial in facts["trials"]]
    assert names[:3] == ["as it is", "Q8_0", "Q4_0"]
    for trial in facts["trials"]:
        assert trial["figures"]["step"] > 0
        assert 0 <= trial["figures"]["sampled"] <= 1
        assert trial["figures"]["forecast"]["speedup"] >= 1
    assert facts["draft"] == str(here / "draft.gguf")
    kept = [path for path in here.iterdir() if path.stem not in ("target", "draft")]
    assert kept == ([Path(facts["made"])] if facts["made"] else [])
    assert "left" in result.stderr


def test_what_is_kept_drafts_for_its_target_from_then_on(here, scripted):
    before = {path: path.read_bytes() for path in here.iterdir()}
    result = run(here / "target.gguf")
    (made,) = set(here.iterdir()) - before.keys()
    assert {path: path.read_bytes() for path in before} == before
    assert made.name == "draft-slim-300.gguf"
    assert f"Kept {made}" in result.stdout
    assert "300 tokens" in result.stdout
    target = identify(str(here / "target.gguf"))
    draft, reason = best_draft(target, discover())
    assert draft.path == made
    assert "was made to draft for target.gguf" in reason
    assert made_here(target).path == made
    setup, problem = find_models(Settings(target=str(target.path)))
    assert (setup.draft, problem) == (made, None)
    assert "shares 300 tokens" in Pairing(target).judge(draft).reason
    assert Mapping.between(read_vocabulary(target.path), read_vocabulary(made)).size == 300


def test_what_was_made_for_one_target_is_not_preferred_for_another(here, scripted):
    run(here / "target.gguf")
    tiny.write(here / "other.gguf", seed=9, layers=13, words=WORDS)
    other = identify(str(here / "other.gguf"))
    assert made_here(other) is None
    draft, _ = best_draft(other, discover())
    assert draft.name == "draft.gguf"


def test_file_from_elsewhere_that_claims_to_be_made_here_is_not_preferred(here, scripted, tmp_path):
    run(here / "target.gguf")
    target = identify(str(here / "target.gguf"))
    (made,) = here.glob("*slim*")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    made.rename(elsewhere / made.name)
    draft, _ = best_draft(target, discover([elsewhere]))
    assert draft.name == "draft.gguf"
    assert made_here(target) is None


def test_what_was_made_is_no_source_for_more(here, scripted):
    run(here / "target.gguf")
    facts = json.loads(run(here / "target.gguf", "--json").stdout)
    assert facts["draft"] == str(here / "draft.gguf")


def test_without_a_gain_nothing_is_kept_and_that_is_said(here, monkeypatch):
    monkeypatch.setattr(searching, "DraftBench", Useless)
    before = sorted(here.iterdir())
    result = run(here / "target.gguf")
    assert "Nothing made from draft.gguf is faster here" in result.stdout
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
    [
        (["nowhere.gguf"], ModelMissing, "There is no file nowhere.gguf"),
        (["target.gguf", "--draft", "bad.gguf"], ModelError, "web page"),
        (["target.gguf", "--draft", "target.gguf"], ModelError, "it is the target itself"),
        (["draft.gguf"], ModelMissing, "No model on this machine can draft for draft.gguf"),
        (["target.gguf", "--text", "nowhere.txt"], UsageError, "nowhere.txt cannot be read"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(here, monkeypatch, arguments, error, reason):
    (here / "bad.gguf").write_bytes(b"<html>")
    before = sorted(here.iterdir())
    monkeypatch.chdir(here)
    with pytest.raises(error, match=reason.replace(".", r"\.")):
        run(*arguments)
    assert sorted(here.iterdir()) == before


def test_interrupt_keeps_nothing_and_ends_with_130(here):
    before = sorted(here.iterdir())
    pair = (here / "target.gguf", "--draft", here / "draft.gguf")
    held = endless("assistant.lab.slim.search", "DraftBench.measure")
    program = start("models", "slim", *pair, first=held)
    assert "counting" in program.stderr.readline()
    while not list(here.glob(".slim-*")) and program.poll() is None:
        time.sleep(0.01)
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=WAIT_S)
    assert program.returncode == 130, said
    assert said.endswith("Stopped; nothing was kept.\n")
    assert "Traceback" not in said
    assert sorted(here.iterdir()) == before
