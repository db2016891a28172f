"""The law of what the controller decodes, by exact enumeration: no tolerance.

It learns from each round and weighs each proposal by its evidence, as it does in earnest; only the
clock is one of paper, so that a path through the coins is always the same.
"""

import pytest

from assistant.decoding import speculative
from assistant.drafting.cascade import Cascade
from assistant.drafting.suffix import SuffixSource
from assistant.drafting.tail import TailSource
from assistant.lookahead.controller import Controller
from assistant.verification.block import BlockRule
from assistant.verification.token import TokenRule
from tests.assistant.lookahead.machines import costs
from tests.assistant.toy import Toy, chain_rule
from tests.assistant.toys import modelled_by
from tests.exact import keep_all, law

START = (0, 1, 2, 0, 1)
MACHINE = {1: 1.0, 2: 1.5, 3: 1.8}  # where it depends on the odds whether proposals pay
ROOM, LENGTH = 2, 3


def law_of_loop(rule, target, draft):
    """Return the law of the first tokens, and how many proposals the rounds made."""
    lookaheads = set()

    def run(rng):
        tokens, real = list(START), costs(MACHINE)
        controller = Controller(costs(MACHINE))
        drafter = Cascade(SuffixSource(), TailSource(), modelled_by(draft))
        plans = []

        def plan():
            plans.append(controller.plan(ROOM))
            return plans[-1]

        rounds = speculative(target, drafter, tokens, plan, keep_all, rule(rng))
        while len(tokens) < len(START) + LENGTH:
            round_ = next(rounds)
            draft_s = sum(map(real.draft, plans[-1].reads))
            seconds = real.verify(round_.proposed + 1) + draft_s
            controller.observe(round_, plans[-1], seconds, draft_s)
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
