"""`Rounds` over recorded answers of real models: `python -m tests.tools.replay`."""

import json

import pytest

from assistant.engine.control import Control
from tests.tools.replay.__main__ import EXPECTED, decoded, notes
from tests.tools.replay.recording import answers
from tests.tools.replay.replaying import MACHINES, WarpedAnswer


@pytest.fixture(scope="module")
def texts():
    return [WarpedAnswer(answer) for answer in answers()]


@pytest.mark.parametrize("machine", MACHINES)
def test_the_rounds_of_recorded_answers_are_the_expected_ones(machine, texts):
    """A change that is meant to change rounds writes them again: `... replay expect`."""
    assert notes(machine, texts) == json.loads(EXPECTED.read_text())[machine]


@pytest.mark.parametrize("lookahead", [None, 0, 3, 31])
def test_a_recorded_answer_is_the_same_whatever_is_proposed(lookahead, texts):
    for each in decoded("F16", texts, control=Control("auto", lookahead)):
        assert each.tokens == each.answer.tokens
        assert any(round_.proposed for round_ in each.rounds) == (lookahead != 0)
