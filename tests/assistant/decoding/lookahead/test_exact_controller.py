"""The law of what the controller decodes, by exact enumeration: no tolerance.

It learns from each round and weighs each proposal by its evidence, as it does in earnest; only the
clock is one of paper, so that a path through the coins is always the same.
"""

import pytest

from assistant.decoding.loops import speculative
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.sources.tail import TailSource
from assistant.lab.prove.law import law
from tests.exact.exact_rows import keep_all
from tests.exact.planners import ControllerPlanner
from tests.exact.shipped_sources import START
from tests.exact.toy import Toy, chain_rule
from tests.exact.toy_sources import modelled_by

ROOM, LENGTH = 2, 3


def law_of_loop(rule, target, draft):
    """Return the law of the first tokens, and how many proposals the rounds made."""
    lookaheads = set()

    def run(rng):
        tokens, planner = list(START), ControllerPlanner(ROOM)
        drafter = Cascade(SuffixSource(), TailSource(), modelled_by(draft))
        rounds = speculative(target, drafter, tokens, planner.plan, keep_all, rule(rng))
        while len(tokens) < len(START) + LENGTH:
            round_ = next(rounds)
            planner.observe(round_)
            lookaheads.add(round_.proposed)
        return tuple(tokens[len(START) :][:LENGTH])

    return law(run), lookaheads


@pytest.mark.parametrize("rule", [TokenRule, BlockRule])
@pytest.mark.parametrize("style", ["full", "zeros"])
def test_what_the_controller_decodes_has_the_law_of_the_target(rule, style):
    seen = set()
    for seed in range(4):
        target = Toy(3, seed, style)
        found, lookaheads = law_of_loop(rule, target, Toy(3, seed + 40, style))
        assert found == chain_rule(target, LENGTH, start=START), seed
        seen |= lookaheads
    assert seen == {0, 1, 2}
