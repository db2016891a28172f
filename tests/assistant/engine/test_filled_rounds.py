"""Batches that are filled up: with what, how they are booked, and that nobody sees it."""

import pytest

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.policy import Control, Policy
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.suffix import SuffixSource
from assistant.engine.decoding_sequence import DecodingSequence
from assistant.engine.rounds import Rounds
from tests.assistant.engine.pressing import Counting, greedy
from tests.assistant.engine.test_rounds import Stub

BLOCKS = {1: 1.0, 2: 1.9, 3: 2.8, 4: 1.7, 5: 2.7, 6: 3.6, 8: 3.1, 16: 5.5, 32: 11.0}
PROMPT = 100


class Noting(Costs):
    """Costs that note what they learn."""

    def __init__(self):
        super().__init__(BLOCKS, {})
        self.booked = []

    def saw_verify(self, width, seconds):
        self.booked.append(width)
        super().saw_verify(width, seconds)


class Timed(Counting):
    """A target on which time is what `BLOCKS` says."""

    def __init__(self, n_ctx=4096):
        self.n_ctx, self.now = n_ctx, 0.0
        self.evaluated = []

    def cached(self, tokens):
        return len(tokens)

    def logits(self, tokens, rows=1, fillers=0):
        self.take(len(tokens), rows, fillers)
        return super().logits(tokens, rows, fillers)

    def logits_of(self, texts):
        used = PROMPT + sum(len(text.tokens) - PROMPT for text in texts.values())
        rows = sum(text.rows for text in texts.values())
        self.take(used, rows, sum(text.fillers for text in texts.values()))
        return {i: Counting.logits(self, text.tokens, text.rows) for i, text in texts.items()}

    def take(self, used, rows, fillers):
        assert used + fillers <= self.n_ctx
        self.evaluated.append((rows, fillers))
        self.now += Costs(BLOCKS, {}).evaluation(rows + fillers)


def decoded(target, costs, answers=1, most=400, **control):
    texts = [[*range(50)] * (PROMPT // 50) for _ in range(answers)]
    voices = [
        DecodingSequence(i, text, Stub(text, most), Cascade(SuffixSource()), CoupledRule(i))
        for i, text in enumerate(texts)
    ]
    policy = Policy(Control(**control), Controller(costs) if costs else None)
    for _ in Rounds(target, voices, policy, greedy, lambda: target.now):
        pass
    return texts


@pytest.mark.parametrize(
    ("answers", "lookahead", "rows", "filled"), [(1, 2, 3, 4), (1, 6, 7, 8), (3, 0, 3, 4)]
)
def test_a_batch_that_is_faster_when_full_is_filled_and_booked_as_wide_as_it_was(
    answers, lookahead, rows, filled
):
    target, costs = Timed(), Noting()
    texts = decoded(target, costs, answers, lookahead=lookahead)
    assert costs.booked == [rows + fillers for rows, fillers in target.evaluated]
    same = [fillers for asked, fillers in target.evaluated if asked == rows]
    assert same.count(filled - rows) > 0.9 * len(same)
    unfilled = decoded(Timed(), None, answers, lookahead=lookahead)
    assert [text[:400] for text in texts] == [text[:400] for text in unfilled]


def test_proposals_come_before_fillers():
    target = Timed()
    decoded(target, Noting(), mode="auto")
    usual = target.evaluated[3:-3]
    assert sum(fillers for _, fillers in usual) == 0
    assert sum(rows for rows, _ in usual) > 3 * len(usual)


def test_where_the_context_has_no_room_for_fillers_none_are_added():
    target = Timed(n_ctx=160)
    decoded(target, Noting(), most=160, lookahead=5)
    assert (6, 2) in target.evaluated
    assert target.evaluated[-1] == (6, 0)


def test_a_single_token_is_decoded_alone():
    target = Timed()
    decoded(target, Noting(), mode="ars")
    assert set(target.evaluated) == {(1, 0)}


def test_a_target_that_rolls_back_only_so_many_tokens_gets_no_fillers():
    target = Timed()
    target.rollback = 4
    decoded(target, Noting(), lookahead=2)
    assert {fillers for _, fillers in target.evaluated} == {0}
