"""The coupled rule: the text is a function of the target and the seed, and has the target's law.

False alarms below 1e-7 each; see `chi_square`.
"""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from assistant.decoding.lookahead.plans import FixedPlan
from assistant.decoding.loops import autoregressive, speculative_round
from assistant.decoding.row import Row, one_hot
from assistant.decoding.rules import coupled
from assistant.decoding.rules.coupled import BLOCK, CoupledRule, Noise
from assistant.decoding.sources.draft import Cascade, Draft, Rows
from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from tests.assistant.chi_square import agrees
from tests.exact.exact_rows import keep_all
from tests.exact.planners import Whims
from tests.exact.toy import Toy, best_two, repeats_halved
from tests.exact.toy_sources import Parrot, modelled

LENGTH = 24
ROW = Row(np.array([3, 17, 99, 4_000, 150_000]), np.array([0.5, 0.25, 0.15, 0.07, 0.03]))


def tempered(temperature):
    """Return a warp that makes a toy's rows colder or hotter, in floats."""

    def warp(logits, _history):
        weights = np.array([float(p) for p in logits])
        if temperature == 0:
            return one_hot(int(weights.argmax()))
        ids = np.flatnonzero(weights)
        hot = weights[ids] ** (1 / temperature)
        return Row(ids, hot / hot.sum())

    return warp


def ars(target, seed, warp=keep_all, start=()):
    tokens = list(start)
    loop = autoregressive(target, tokens, warp, CoupledRule(seed))
    while len(tokens) < LENGTH:
        next(loop)
    return tokens


def sps(target, drafter, seed, plan, warp=keep_all, start=()):
    tokens, accepted, rule = list(start), 0, CoupledRule(seed)
    while len(tokens) < LENGTH:
        accepted += speculative_round(target, drafter, tokens, plan(), warp, rule)[0].accepted
    return tokens[:LENGTH], accepted


@pytest.mark.parametrize("warp", [keep_all, best_two, repeats_halved, *map(tempered, (0, 0.3, 2))])
def test_sps_emits_what_ars_emits_whatever_the_lookahead(warp):
    target, drafter = Toy(5, 1), modelled(Toy(5, 2), 5)
    accepted = 0
    for seed in range(3):
        expected = ars(target, seed, warp)
        for k in (0, 1, 2, 3, 7):
            text, kept = sps(target, drafter, seed, lambda k=k: FixedPlan(k), warp)
            assert text == expected, (seed, k)
            accepted += kept
    assert accepted > 0


class Hindsight(Cascade):
    """Ask the plan again when the token is drawn."""

    def propose(self, tokens, plan, warp, draw):
        draft = super().propose(tokens, plan, warp, draw)
        for i, proposal in enumerate(draft.proposals):
            if not plan.include(Rows(proposal.source), proposal.token):
                return Draft(draft.proposals[:i])
        return draft


@pytest.mark.parametrize("drafter", [Cascade, Hindsight])
def test_sps_emits_what_ars_emits_even_if_the_plan_sees_the_drawn_token(drafter):
    target, lengths = Toy(4, 3), set()
    model = ModelSource(Toy(4, 4), VocabularyMapping.identity(4, 4))
    sources = drafter(Parrot(4), model)
    for seed in range(5):
        text, kept = sps(target, sources, seed, lambda s=seed: Whims(5, s))
        assert text == ars(target, seed)
        lengths.add(kept)
    assert max(lengths) > 0


def test_the_coupled_draw_of_an_equal_draft_is_always_accepted():
    """Both draw with the same noise at the same position."""
    for seed in range(3):
        tokens, target, drafter = list[int](), Toy(5, 1), modelled(Toy(5, 1), 5)
        for _ in range(6):
            plan, rule = FixedPlan(3), CoupledRule(seed)
            round_, _ = speculative_round(target, drafter, tokens, plan, keep_all, rule)
            assert round_.accepted == 3


def test_another_seed_gives_another_text_and_the_same_one_the_same():
    texts = [tuple(ars(Toy(5, 1), seed)) for seed in (1, 2, 3, 1)]
    assert len(set(texts)) == 3
    assert texts[0] == texts[3]


def test_an_answer_that_is_continued_goes_on_as_if_it_had_not_stopped():
    target = Toy(5, 1)
    whole = ars(target, 6)
    for cut in (1, 7, 16):
        assert ars(target, 6, start=whole[:cut]) == whole
        drafter = modelled(Toy(5, 2), 5)
        assert sps(target, drafter, 6, lambda: FixedPlan(3), start=whole[:cut])[0] == whole


def test_draws_along_the_positions_have_the_law_of_the_row():
    rule = CoupledRule(11)
    drawn = [rule.draw(ROW, position) for position in range(20_000)]
    law = dict(zip(ROW.ids.tolist(), ROW.probs.tolist(), strict=True))
    assert agrees(Counter(drawn), law)
    pairs = Counter(zip(drawn[::2], drawn[1::2], strict=True))
    assert agrees(pairs, {(a, b): law[a] * law[b] for a, b in product(law, repeat=2)})


def test_draws_along_the_seeds_have_the_law_of_the_row():
    drawn = Counter(CoupledRule(seed).draw(ROW, 40) for seed in range(10_000))
    assert agrees(drawn, dict(zip(ROW.ids.tolist(), ROW.probs.tolist(), strict=True)))


def test_the_block_size_changes_no_draw(monkeypatch):
    row = Row(np.arange(0, 300, 3), np.random.default_rng(4).random(100) ** 4)
    rule = CoupledRule(2)
    whole = [rule.draw(row, position) for position in range(50)]
    monkeypatch.setattr(coupled, "BLOCK", 7)
    assert [rule.draw(row, position) for position in range(50)] == whole


def test_a_coupled_draw_needs_no_normalised_row():
    rule, tenth = CoupledRule(2), Row(ROW.ids, ROW.probs / 10)
    assert all(rule.draw(ROW, i) == rule.draw(tenth, i) for i in range(300))


class Silence(Noise):
    """Noise that is the same for every token."""

    def exponentials(self, position, ids):
        return np.ones(len(ids))


def test_the_lowest_id_wins_among_equals():
    rule = CoupledRule(0)
    rule._noise = Silence(0)
    assert rule.draw(Row(np.array([2, 5, 8, 9]), np.array([0.2, 0.3, 0.3, 0.2])), 0) == 5
    assert rule.draw(Row(np.arange(3 * BLOCK), np.ones(3 * BLOCK)), 0) == 0
