"""Closed forms of acceptance, against enumeration and against another way of computing them."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from assistant.decoding.lookahead.policy import Fixed
from assistant.decoding.loops import speculative
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.token import TokenRule
from assistant.lab.prove.law import law
from assistant.lab.prove.significance import coincidence, of_blocks, of_tokens
from tests.assistant.decoding.rules.given import coupled_acceptance
from tests.exact.exact_rows import keep_all
from tests.exact.toy import Toy
from tests.exact.toy_sources import modelled


def rows(seed):
    rng = np.random.default_rng(seed)
    ids = [np.sort(rng.choice(12, 6, replace=False)) for _ in range(2)]
    return [Row(each, rng.dirichlet(np.ones(6))) for each in ids]


@pytest.mark.parametrize(("rule", "trials"), [(TokenRule, of_tokens), (BlockRule, of_blocks)])
@pytest.mark.parametrize("style", ["full", "zeros"])
def test_trials_are_kept_as_often_as_they_say(rule, trials, style):
    """By enumeration: in all, and among the trials of each chance at each place."""
    target, drafter = Toy(3, 1, style), modelled(Toy(3, 2, style))
    kept, tried = defaultdict(Fraction), defaultdict(Fraction)

    def run(rng):
        round_ = next(speculative(target, drafter, [], lambda: Fixed(2), keep_all, rule(rng)))
        return tuple(trials(round_))

    for outcome, probability in law(run).items():
        for trial in outcome:
            tried[trial.place, trial.chance] += probability
            kept[trial.place, trial.chance] += trial.kept * probability
    assert {place for place, _ in tried} == {0, 1}
    for key, probability in tried.items():
        assert float(kept[key] / probability) == pytest.approx(key[1]), key


@pytest.mark.parametrize("seed", range(5))
def test_rows_coincide_as_often_as_a_sum_over_all_pairs_says(seed):
    target, draft = rows(seed)
    maps = [dict(zip(row.ids.tolist(), row.probs.tolist(), strict=True)) for row in (target, draft)]
    assert coincidence(target, draft) == pytest.approx(coupled_acceptance(*maps))
    assert coincidence(target, target) == pytest.approx(1)


def test_rows_apart_have_nothing_in_common():
    target, draft = Row(np.array([0]), np.ones(1)), Row(np.array([1]), np.ones(1))
    assert target.overlap(draft) == coincidence(target, draft) == 0
