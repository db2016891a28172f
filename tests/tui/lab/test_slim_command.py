"""`specchat models slim`: what it prints, makes and refuses."""

import re
import signal
from functools import partial

import pytest

from assistant.settings.settings import Settings
from models.drafts import Pairing, best_draft, own_draft
from models.errors import ModelError, ModelMissing
from models.files.locate import identify
from models.files.stores import discover
from models.mapping import SAMPLE
from tests import tiny
from tests.patience import WAIT_S, until
from tests.tui.shell.program import endless, invoke, started
from tui.models.command import models

WORDS = tuple(dict.fromkeys(re.findall(r"\s?\S+", SAMPLE.decode())))
WORDS += tuple(f" word{i}" for i in range(600 - len(WORDS)))
FEW = ("--tokens", 500)


@pytest.fixture
def here(bare_machine):
    """A machine with a target and a draft among specchat's own models."""
    folder = bare_machine / "models"
    tiny.write(folder / "target.gguf", layers=8, words=WORDS, stops=False)
    tiny.write(folder / "draft.gguf", seed=2, like=0, layers=2, words=WORDS, stops=False)
    return folder


run = partial(invoke, models, "slim")


def test_a_slim_draft_drafts_for_its_target_from_then_on(here):
    before = {path: path.read_bytes() for path in here.iterdir()}
    result = run(here / "target.gguf", *FEW)
    (made,) = set(here.iterdir()) - before.keys()
    assert {path: path.read_bytes() for path in before} == before
    assert made.name == "draft-slim-q4_0-500.gguf"
    assert result.stdout.startswith(f"Made {made}: ")
    target = identify(str(here / "target.gguf"))
    draft, reason = best_draft(target, discover())
    assert draft is not None
    assert draft.path == made
    assert "was made to guess for target.gguf" in reason
    assert ((own := own_draft(target)) and own.path) == made
    setup, problem = Settings(target=str(target.path)).setup()
    assert (setup.draft, problem) == (made, None)
    assert "500 tokens in common" in Pairing(target).judge(draft).reason
    assert "where draft.gguf has" in run(target.path, "--tokens", 480).stdout  # it is no source


def test_a_slim_draft_for_one_target_is_not_preferred_for_another(here):
    run(here / "target.gguf", *FEW)
    tiny.write(here / "other.gguf", seed=9, layers=13, words=WORDS)
    other = identify(str(here / "other.gguf"))
    assert own_draft(other) is None
    draft, _ = best_draft(other, discover())
    assert (draft and draft.name) == "draft.gguf"


def test_file_from_elsewhere_that_claims_to_be_made_here_is_not_preferred(here, tmp_path):
    run(here / "target.gguf", *FEW)
    target = identify(str(here / "target.gguf"))
    (made,) = here.glob("*slim*")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    made.rename(elsewhere / made.name)
    draft, _ = best_draft(target, discover([elsewhere]))
    assert (draft and draft.name) == "draft.gguf"
    assert own_draft(target) is None


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
    [
        (["nowhere.gguf"], ModelMissing, "There is no file nowhere.gguf"),
        (["target.gguf", "--draft", "bad.gguf"], ModelError, "web page"),
        (["target.gguf", "--draft", "target.gguf"], ModelError, "it is the one that answers"),
        (["target.gguf", "--tokens", 1], ModelError, "With 1 token, draft.gguf cannot draft"),
        (["draft.gguf"], ModelMissing, "No smaller model here has the vocabulary of draft.gguf"),
    ],
)
def test_an_impossible_slim_draft_is_one_sentence(here, monkeypatch, arguments, error, reason):
    (here / "bad.gguf").write_bytes(b"<html>")
    (here / "draft-slim-q4_0-259.gguf").write_bytes(b"made before")  # what --tokens 1 is named
    before = {path: path.read_bytes() for path in here.iterdir()}
    monkeypatch.chdir(here)
    with pytest.raises(error, match=reason.replace(".", r"\.")):
        run(*arguments)
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_interrupt_keeps_nothing_and_ends_with_130(here):
    before = sorted(here.iterdir())
    pair = (here / "target.gguf", "--draft", here / "draft.gguf")
    with started(
        "models", "slim", *pair, first=endless("models.slim.slim_draft", "read_layout")
    ) as program:
        until(lambda: list(here.glob(".slim-*")) or program.poll() is not None)
        program.send_signal(signal.SIGINT)
        _, stderr = program.communicate(timeout=WAIT_S)
    assert program.returncode == 130, stderr
    assert stderr.endswith("Stopped; nothing was kept.\n")
    assert "Traceback" not in stderr
    assert sorted(here.iterdir()) == before
