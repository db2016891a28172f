"""The answer: where it ends, what its text is, and what it counts."""

from types import SimpleNamespace

import pytest

from assistant.answer import Answer
from assistant.decoding import Round, Sampled
from assistant.events import Finished, Origin, Stop
from assistant.request import Message, Request

END = 99
PIECES = {
    END: b"",
    **{i: bytes([97 + i]) for i in range(26)},
    50: b"\xf0\x9f",
    51: b"\x98",
    52: b"\x80!",
    53: b"\xff",
    54: b"",
}
VOCAB = SimpleNamespace(stop_tokens=frozenset({END}), piece=PIECES.__getitem__)


def answer(**settings) -> Answer:
    begun = Answer(Request((Message("user", "?"),), **settings), VOCAB, 0.0, 7, 3)
    begun.begin()
    return begun


def sps(*ids: int, proposed: int | None = None, rejected: bool = False) -> Round:
    """Return a round: all but the last of `ids` are accepted proposals."""
    accepted = [Sampled(token, Origin.DRAFT, "model", 0.5, 0.5) for token in ids[:-1]]
    origin = Origin.RESIDUAL if rejected else Origin.TARGET
    last = Sampled(ids[-1], origin, "model" if rejected else None, 0.5, 0.5 if rejected else None)
    count = len(accepted) + rejected if proposed is None else proposed
    return Round((*accepted, last), (*ids[:-1], *[0] * (count - len(accepted))))


def text_of(events) -> str:
    return "".join(token.text for event in events for token in getattr(event, "tokens", ()))


def finish(begun: Answer) -> Finished:
    *_, last = begun.finish()
    assert isinstance(last, Finished)
    return last


def test_a_stop_token_inside_an_accepted_run_ends_the_answer_there():
    begun = answer()
    decoded = begun.add(sps(0, 1, END, 2, 3))
    assert begun.stop is Stop.STOP_TOKEN
    assert [token.id for token in decoded.tokens] == [0, 1, END]
    finished = finish(begun)
    assert finished.text == "ab"
    assert finished.token_ids == (0, 1)
    assert finished.stats.generated_tokens == 3
    assert finished.stats.accepted == 3
    assert finished.stats.tested == 3


def test_a_stop_token_has_no_text_whatever_its_piece():
    begun = answer()
    begun.add(sps(END))
    assert finish(begun).text == ""


def test_a_character_of_several_tokens_appears_with_the_last_of_them():
    begun = answer()
    decoded = begun.add(sps(0, 50, 51, 52))
    assert [token.text for token in decoded.tokens] == ["a", "", "", "😀!"]
    assert finish(begun).text == "a😀!"


def test_a_character_may_be_spread_over_rounds():
    begun = answer()
    shown = [begun.add(sps(token)) for token in (50, 51, 52)]
    assert text_of(shown) == "😀!"


def test_bytes_that_are_no_text_become_replacement_characters():
    begun = answer()
    begun.add(sps(53, 0))
    assert finish(begun).text == "\ufffda"


def test_an_incomplete_character_at_the_end_is_shown_as_one_replacement():
    begun = answer(max_tokens=2)
    begun.add(sps(0))
    begun.add(sps(50))
    assert begun.stop is Stop.LENGTH
    assert finish(begun).text == "a\ufffd"


@pytest.mark.parametrize("held", [False, True])
def test_what_was_shown_and_the_final_text_are_the_same(held):
    begun = answer(stop_strings=("bz",) if held else ())
    events = [begun.add(sps(0, 1)), *begun.finish()]
    assert text_of(events) == events[-1].text == "ab"


def test_a_stop_string_across_tokens_ends_the_answer_and_is_not_shown():
    begun = answer(stop_strings=("cd",))
    events = [begun.add(sps(0, 1, 2)), begun.add(sps(3, 4, 5)), *begun.finish()]
    assert begun.stop is Stop.STOP_STRING
    assert text_of(events) == events[-1].text == "ab"
    assert events[-1].token_ids == ()


def test_a_stop_string_inside_an_accepted_run_drops_what_follows():
    begun = answer(stop_strings=("b",))
    decoded = begun.add(sps(0, 1, 2, 3))
    assert [token.text for token in decoded.tokens] == ["a"]
    assert decoded.stats.generated_tokens == 2


def test_held_text_is_released_when_the_answer_ends_otherwise():
    begun = answer(stop_strings=("abz",), max_tokens=2)
    first = begun.add(sps(0, 1))
    assert (text_of([first]), begun.stop) == ("", Stop.LENGTH)
    events = list(begun.finish())
    assert text_of(events) == events[-1].text == "ab"
    assert events[-1].token_ids == (0, 1)


def test_origins_of_the_tokens_add_up_to_the_counts():
    begun = answer()
    rounds = [
        sps(0),
        sps(1, 2, 3),
        sps(4, 5, rejected=True, proposed=3),
        sps(6, rejected=True, proposed=2),
    ]
    tokens = [token for each in rounds for token in begun.add(each).tokens]
    stats = begun.stats
    origins = [token.origin for token in tokens]
    assert stats.generated_tokens == len(tokens) == 7
    assert stats.accepted == origins.count(Origin.DRAFT) == 3
    assert stats.drafted == 2 + 3 + 2
    assert stats.tested == stats.accepted + origins.count(Origin.RESIDUAL)
    assert stats.rounds == 4
    assert stats.lookahead_counts == {0: 1, 2: 2 - 0, 3: 1}
    assert stats.acceptance_rate == 3 / 5
    assert stats.tokens_per_eval == 7 / 4


def test_rejected_proposals_are_reported():
    begun = answer()
    round_ = Round(sps(1, 2).tokens, (1, 8, 9))
    decoded = begun.add(round_)
    assert decoded.rejected == (8, 9)
    assert decoded.lookahead == 3


def test_max_tokens_ends_the_answer_and_never_exceeds_it():
    begun = answer(max_tokens=3)
    assert begun.tokens_left == 3
    begun.add(sps(0, 1))
    assert (begun.tokens_left, begun.stop) == (1, None)
    begun.add(sps(2))
    assert begun.stop is Stop.LENGTH


def test_a_stop_token_at_the_limit_is_a_stop_token():
    begun = answer(max_tokens=1)
    begun.add(sps(END))
    assert begun.stop is Stop.STOP_TOKEN


def test_an_answer_that_nothing_ended_was_cancelled():
    begun = answer()
    begun.add(sps(0))
    assert finish(begun).stop is Stop.CANCELLED
