"""`AnswerBuilder`: where an answer ends, its text, and its figures."""

from dataclasses import replace
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from assistant.decoding.lookahead.forecast import Forecast, Reason
from assistant.decoding.loops import Rejected, Round, Sampled
from assistant.decoding.row import Row
from assistant.decoding.sources.draft import Proposal
from assistant.engine.answer import AnswerBuilder
from assistant.engine.rounds import prefill
from assistant.engine.stats_builder import StatsBuilder
from assistant.events import (
    Alternative,
    Decoded,
    Finished,
    Origin,
    Prefilled,
    Stop,
    acceptance_prob,
)
from assistant.prompt.answer_text import AnswerText
from assistant.prompt.thoughts import AnswerBeginning, PartPosition, find_markers
from assistant.request import Message, Request
from assistant.stats import Stats, Tally
from assistant.streamed_text import TokenText

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
VOCAB: Any = SimpleNamespace(
    stop_tokens=frozenset({END}), piece=PIECES.__getitem__, text="<{}>".format
)
TEXT = TokenText(VOCAB.piece)
IDLE: Any = SimpleNamespace(busy_s=0.0)
OTHER = 1000  # a token that every row holds as well


def answer(text=None, **settings) -> AnswerBuilder:
    request = Request((Message("user", "?"),), **settings)
    plain = AnswerText(AnswerBeginning(TEXT), stops=request.stop_strings)
    stats_builder = StatsBuilder(Stats(request.mode), IDLE, None, perf_counter, 0.0)
    return AnswerBuilder(request, VOCAB, stats_builder, text or plain)


def row(token: int) -> Row:
    return Row(np.array([token, OTHER]), np.array([0.5, 0.5]))


def sps(*ids: int, proposed: int | None = None, rejected: bool = False) -> Round:
    """Return a round: all but the last of `ids` are accepted proposals."""
    accepted = [
        Sampled(token, Origin.DRAFT, row(token), proposal(token), 0.3) for token in ids[:-1]
    ]
    last = Sampled(ids[-1], Origin.TARGET, row(ids[-1]))
    if rejected:
        last = Sampled(ids[-1], Origin.RESIDUAL, row(ids[-1]), proposal(ids[-1]), 0.9)
    count = len(accepted) + rejected if proposed is None else proposed
    return Round((*accepted, last), rejections(*[0] * (count - len(accepted)), tested=rejected))


def proposal(token: int) -> Proposal:
    return Proposal(token, row(token), "model")


def rejections(*ids: int, tested: bool = True) -> tuple[Rejected, ...]:
    first = [tested, *[False] * len(ids)]
    return tuple(
        Rejected(proposal(token), row(token) if test else None, 0.9 if test else None)
        for token, test in zip(ids, first, strict=False)
    )


def text_of(events) -> str:
    return "".join(token.text for event in events for token in getattr(event, "tokens", ()))


def finish(begun: AnswerBuilder) -> Finished:
    *_, last = begun.finish()
    assert isinstance(last, Finished)
    return last


@pytest.mark.parametrize("part", ["answer", "thought"])
def test_a_stop_token_inside_an_accepted_run_ends_the_answer_there(part):
    think = find_markers("</think>", lambda text: False)
    begun = answer(AnswerText(AnswerBeginning(TEXT, think, PartPosition(part))))
    decoded = begun.add(sps(0, 1, END, 2, 3))
    assert begun.stop is Stop.STOP_TOKEN
    assert [token.id for token in decoded.tokens] == [0, 1, END]
    finished = finish(begun)
    assert (finished.text, finished.thought) == (("", "ab") if part == "thought" else ("ab", ""))
    assert (finished.token_ids, finished.stats.generated_tokens) == ((0, 1), 3)
    assert (finished.stats.accepted, finished.stats.tested) == (3, 3)


def test_a_character_of_several_tokens_appears_with_the_last_of_them():
    begun = answer()
    assert [token.text for token in begun.add(sps(0, 50, 51, 52)).tokens] == ["a", "", "", "😀!"]
    assert finish(begun).text == "a😀!"


def test_a_stop_string_across_tokens_ends_the_answer_and_is_not_shown():
    begun = answer(stop_strings=("cd",))
    *shown, end = begun.add(sps(0, 1, 2)), begun.add(sps(3, 4, 5)), *begun.finish()
    assert begun.stop is Stop.STOP_STRING
    assert isinstance(end, Finished)
    assert (text_of(shown), end.text, end.token_ids) == ("ab", "ab", ())


def test_held_text_is_released_with_the_plan_of_its_round_when_the_answer_ends_otherwise():
    begun = answer(stop_strings=("abz",), max_tokens=2)
    first = begun.add(sps(0, 1), Forecast(Reason.CHOSEN))
    assert (text_of([first]), begun.stop) == ("", Stop.LENGTH)
    held, end = begun.finish()
    assert isinstance(held, Decoded)
    assert (held.lookahead, held.forecast) == (1, Forecast(Reason.CHOSEN))
    assert isinstance(end, Finished)
    assert (text_of([held]), end.text, end.token_ids) == ("ab", "ab", (0, 1))


def test_origins_of_the_tokens_add_up_to_the_counts():
    begun = answer()
    rounds = [
        sps(0),
        sps(1, 2, 3),
        sps(4, 5, rejected=True, proposed=3),
        sps(6, rejected=True, proposed=2),
    ]
    tokens = [token for each in rounds for token in begun.add(each).tokens]
    stats = finish(begun).stats
    origins = [token.origin for token in tokens]
    assert stats.generated_tokens == len(tokens) == 7
    assert stats.accepted == origins.count(Origin.DRAFT) == 3
    assert stats.drafted == 2 + 3 + 2
    assert stats.tested == stats.accepted + origins.count(Origin.RESIDUAL)
    assert (stats.rounds, stats.lookahead_counts) == (4, {0: 1, 2: 2, 3: 1})
    assert stats.acceptance_rate == 3 / 5
    assert stats.tokens_per_eval == 7 / 4


def test_rejected_proposals_before_the_end_are_ghosts_of_which_the_first_was_tested():
    round_ = Round(sps(1, 2).tokens, rejections(8, END))
    first, second = answer().add(round_, Forecast(Reason.CHOSEN)).rejected
    assert (first.id, first.text, first.position, first.uniform) == (8, "i", 1, 0.9)
    assert (first.target_prob, first.draft_prob, acceptance_prob(first)) == (0.5, 0.5, 1)
    assert (second.id, second.text, second.position) == (END, f"<{END}>", 2)
    assert (second.target_prob, second.uniform, acceptance_prob(second)) == (None, None, None)
    assert answer().add(Round(sps(1, END, 2).tokens, rejections(8))).rejected == ()


def test_a_token_tells_its_place_its_test_and_what_else_was_possible():
    accepted, last = answer(alternatives=1).add(sps(1, 2)).tokens
    assert (accepted.position, accepted.uniform, acceptance_prob(accepted)) == (0, 0.3, 1)
    assert accepted.target_top == accepted.draft_top == (Alternative(1, "b", 0.5),)
    assert (last.position, last.uniform, last.draft_prob, last.draft_top) == (1, None, None, ())
    assert answer().add(sps(1, 2)).tokens[0].target_top == ()


def test_a_token_and_a_ghost_tell_their_probability_under_each_row():
    kept, last = sps(1, 2).tokens
    kept = replace(kept, target_row=Row(np.array([1, 8]), np.array([0.2, 0.8])))
    ghost = replace(rejections(8)[0], target_row=kept.target_row)
    decoded = answer().add(Round((kept, last), (ghost,)))
    assert (decoded.tokens[0].target_prob, decoded.tokens[0].draft_prob) == (0.2, 0.5)
    assert (decoded.rejected[0].target_prob, decoded.rejected[0].draft_prob) == (0.8, 0.5)


def test_a_threshold_is_told_as_a_plain_number():
    kept, last = sps(1, 2).tokens
    kept = replace(kept, threshold=np.float64(0.5))
    behind = replace(rejections(8)[0], threshold=np.float64(0.25))
    decoded = answer().add(Round((kept, last), (behind,)))
    thresholds = [token.threshold for token in decoded.tokens]
    thresholds += [ghost.threshold for ghost in decoded.rejected]
    assert thresholds == [0.5, None, 0.25]
    assert [type(each) for each in thresholds] == [float, type(None), float]


def test_tests_are_counted_by_place_and_by_source():
    begun = answer()
    for round_ in (sps(0), sps(1, 2, 3), sps(4, 5, rejected=True, proposed=3)):
        begun.add(round_)
    stats = finish(begun).stats
    assert (stats.positions, stats.sources) == ((Tally(2, 2), Tally(2, 1)), {"model": Tally(4, 3)})
    assert stats.acceptance_rate == stats.sources["model"].rate == 3 / 4


def test_an_answer_ends_by_a_stop_token_at_the_limit_too_and_if_by_nothing_was_cancelled():
    for begun, token, stop in (
        (answer(max_tokens=1), END, Stop.STOP_TOKEN), (answer(), 0, Stop.CANCELLED)
    ):  # fmt: skip
        begun.add(sps(token))
        assert finish(begun).stop is stop


def test_the_time_of_guessing_is_that_of_rounds_that_proposed_and_of_the_draft_between_rounds():
    draft: Any = SimpleNamespace(busy_s=0.0)
    clock = SimpleNamespace(time=0.0)
    stats_builder = StatsBuilder(Stats("sps"), IDLE, draft, lambda: clock.time, clock.time)
    text = AnswerText(AnswerBeginning(TEXT))
    begun = AnswerBuilder(Request((Message("user", "?"),)), VOCAB, stats_builder, text)
    stats_builder.start_decoding()

    def round_(sampled, at_s, drafting_s=0.0, recomputed=0.0):
        clock.time, draft.busy_s = at_s, draft.busy_s + drafting_s
        return begun.add(sampled, Forecast(Reason.ARS, recomputed=recomputed)).stats.guessing_s

    assert round_(sps(1), 2.0) == 0.0
    assert round_(sps(1, 2, proposed=3), 5.0, 0.5) == 3.0
    assert round_(sps(1), 9.0, 1.0) == 4.0  # it read what it lacked, and proposed nothing
    assert round_(sps(1), 13.0, recomputed=0.25) == 5.0  # what an earlier rejection cost
    assert finish(begun).stats.decode_s == 13.0


def test_a_prefill_reports_progress_first_and_after_each_chunk(open_model, tiny_target):
    model = open_model(tiny_target)
    model.logits([1, 2, 3])
    steps = prefill(model, "target", [1, 2, 3, *range(4, 254), *range(250)])
    assert next(steps) == Prefilled("target", 3, 503)
    assert len(model.cached_tokens) == 3
    assert [step.done for step in steps] == [259, 503]
    assert not list(prefill(model, "target", [1, 2, 3]))
