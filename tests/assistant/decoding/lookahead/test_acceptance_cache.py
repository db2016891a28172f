"""What sources were worth with these models is there after the next start."""

import os

import pytest

from assistant.decoding.lookahead.acceptance import Acceptance
from assistant.decoding.lookahead.machine_cache import (
    FURTHEST,
    known_acceptance,
    remember_acceptance,
)
from assistant.decoding.loops import Round, Sampled
from assistant.decoding.sources.draft import Run
from assistant.events import Origin
from tests.assistant.decoding.lookahead.machines import coin

SHOWN = {"model": -1.5, "suffix": 0.25}


@pytest.fixture
def pair(tmp_path):
    for name in ("target", "draft", "other"):
        (tmp_path / name).write_bytes(name.encode())
    return tmp_path / "target", tmp_path / "draft"


def test_what_was_shown_is_remembered_of_this_pair_alone(pair, tmp_path):
    target, draft = pair
    remember_acceptance(SHOWN, target, draft, tmp_path)
    assert known_acceptance(target, draft, tmp_path) == SHOWN
    assert known_acceptance(target, None, tmp_path) == {}
    assert known_acceptance(target, tmp_path / "other", tmp_path) == {}


def test_a_file_name_need_not_be_utf_8(tmp_path):
    target = tmp_path / os.fsdecode(b"\xff\xfe.gguf")
    target.touch()
    remember_acceptance(SHOWN, target, None, tmp_path)
    assert known_acceptance(target, None, tmp_path) == SHOWN


@pytest.mark.parametrize("damage", ["", "[]", "null", '{"target 6 | draft 5": 3}', "\x00"])
def test_a_damaged_file_is_as_good_as_none_and_is_written_anew(pair, tmp_path, damage):
    (tmp_path / "acceptance.json").write_text(damage)
    assert known_acceptance(*pair, tmp_path) == {}
    remember_acceptance(SHOWN, *pair, tmp_path)
    assert known_acceptance(*pair, tmp_path) == SHOWN


def test_what_no_answer_can_have_shown_is_not_believed(pair, tmp_path):
    remember_acceptance({"model": 2 * FURTHEST, "suffix": 1.0}, *pair, tmp_path)
    assert known_acceptance(*pair, tmp_path) == {"suffix": 1.0}


def test_a_folder_that_cannot_be_written_is_no_error(pair, tmp_path):
    (tmp_path / "file").touch()
    remember_acceptance(SHOWN, *pair, tmp_path / "file" / "folder")


def test_what_rows_have_shown_can_be_kept(pair, tmp_path):
    """Odds come from rows of numpy, whose numbers the file does not know."""
    acceptance, run = Acceptance(), Run("suffix", (0,), (3,))
    acceptance.learn(Round((Sampled(1, Origin.TARGET, coin(0.1)),)), [run])
    remember_acceptance(acceptance.lasting, *pair, tmp_path)
    assert known_acceptance(*pair, tmp_path) == acceptance.lasting
