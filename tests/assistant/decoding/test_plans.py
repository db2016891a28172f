"""Plans may decide by all they are told before a token is drawn, by exact enumeration.

One that looks at the drawn token is among the mutants; that the coupled rule does not mind is in
`rules/test_coupled`.
"""

from functools import partial

import pytest

from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from tests.exact.enumeration import WHIMS, Case
from tests.exact.exact_rows import keep_all
from tests.exact.planners import WhimsicalPlanner
from tests.exact.random_plan import Parrot, Whims
from tests.exact.toy import Toy
from tests.exact.toy_sources import modelled_by

by_every_rule = pytest.mark.parametrize("rule", [TokenRule, BlockRule])


def whimsical(target, room, length, seed):
    """Return a case in which every plan knows all rounds before it."""
    drafter, planner = partial(mixed, target.n_vocab, seed), partial(WhimsicalPlanner, room, seed)
    return Case("parrot, model", WHIMS, target, drafter, planner, length)


def mixed(n_vocab, seed):
    """Return a drafter that has a run or a row to offer, often both."""
    return Cascade(Parrot(n_vocab, seed), modelled_by(Toy(n_vocab, seed + 90), n_vocab))


@by_every_rule
@pytest.mark.parametrize("seed", range(12))
def test_plans_may_depend_on_evidence_offers_and_past_rounds(rule, seed):
    target = Toy(2, seed, ("full", "zeros")[seed % 2])
    assert whimsical(target, 3, 4, seed).distance(rule)[0] == 0


@by_every_rule
@pytest.mark.parametrize("seed", range(4))
def test_plans_of_two_may_do_so_with_three_tokens(rule, seed):
    assert whimsical(Toy(3, seed), 2, 3, seed).distance(rule)[0] == 0


def test_the_plans_decide_in_every_way_there_is():
    lengths, mixtures = set(), set()
    for seed in range(100):
        drafter = mixed(2, seed)
        draft = drafter.propose([seed % 2], Whims(3, seed), keep_all, lambda row, i: row.ids[0])
        lengths.add(len(draft.proposals))
        mixtures.add(frozenset(proposal.source for proposal in draft.proposals))
    assert lengths == {0, 1, 2, 3}
    assert len(mixtures) == 4  # nothing, either source, both
