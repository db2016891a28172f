"""Plans may decide by all they are told before a token is drawn, by exact enumeration.

A plan that looks at the drawn token, or a source at the next uniform, is the control: the token and
the block rule must not pass it.
That the coupled rule does not mind is in `rules/test_coupled`.
"""

from fractions import Fraction

import pytest

from assistant.decoding.lookahead.policy import Fixed
from assistant.decoding.loops import speculative
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Copying, Run
from assistant.lab.prove.law import law
from tests.exact.broken import Hindsight
from tests.exact.exact_rows import keep_all
from tests.exact.random_plan import Parrot, Whims
from tests.exact.toy import Toy, chain_rule
from tests.exact.toy_sources import modelled_by

by_every_rule = pytest.mark.parametrize("rule", [TokenRule, BlockRule])


def law_of_plans(rule, target, drafter, room, length, seed):
    """Return the law of the first tokens when every plan knows all rounds before it."""

    def run(rng):
        tokens: list[int] = []
        past: list[object] = [seed]
        rounds = speculative(
            target, drafter, tokens, lambda: Whims(room, *past), keep_all, rule(rng)
        )
        while len(tokens) < length:
            round_ = next(rounds)
            past.append((round_.proposed, round_.accepted, tuple(tokens)))
        return tuple(tokens[:length])

    return law(run)


def mixed(kind, n_vocab, seed):
    """Return a drafter that has a run or a row to offer, often both."""
    return kind(Parrot(n_vocab, seed), modelled_by(Toy(n_vocab, seed + 90), n_vocab))


@by_every_rule
@pytest.mark.parametrize("seed", range(12))
def test_plans_may_depend_on_evidence_offers_and_past_rounds(rule, seed):
    target = Toy(2, seed, ("full", "zeros")[seed % 2])
    plans = law_of_plans(rule, target, mixed(Cascade, 2, seed), 3, 4, seed)
    assert plans == chain_rule(target, 4)


@by_every_rule
@pytest.mark.parametrize("seed", range(4))
def test_plans_of_two_may_do_so_with_three_tokens(rule, seed):
    target = Toy(3, seed)
    plans = law_of_plans(rule, target, mixed(Cascade, 3, seed), 2, 3, seed)
    assert plans == chain_rule(target, 3)


@by_every_rule
def test_a_plan_that_looks_at_the_drawn_token_is_biased(rule):
    biased = 0
    for seed in range(6):
        target = Toy(2, seed)
        plans = law_of_plans(rule, target, mixed(Hindsight, 2, seed), 2, 3, seed)
        biased += plans != chain_rule(target, 3)
    assert biased >= 4  # a whim may happen not to depend on the token


def test_the_plans_decide_in_every_way_there_is():
    lengths, mixtures = set(), set()
    for seed in range(100):
        drafter = mixed(Cascade, 2, seed)
        draft = drafter.propose([seed % 2], Whims(3, seed), keep_all, lambda row, i: row.ids[0])
        lengths.add(len(draft.proposals))
        mixtures.add(frozenset(proposal.source for proposal in draft.proposals))
    assert lengths == {0, 1, 2, 3}
    assert len(mixtures) == 4  # nothing, either source, both


class Peekable:
    """A stream of uniforms of which the next one may be looked at."""

    def __init__(self, rng):
        self._rng, self._seen = rng, []

    def peek(self):
        self._seen = self._seen or [self._rng.random()]
        return self._seen[0]

    def random(self):
        return self._seen.pop() if self._seen else self._rng.random()


class Clairvoyant(Copying):
    """Choose by the uniform number that will decide: the control that must fail."""

    name = "clairvoyant"

    def __init__(self, uniforms):
        self._uniforms = uniforms

    def read(self, tokens):
        pass

    def offer(self, tokens, room):
        return Run(self.name, (int(self._uniforms.peek() < Fraction(1, 2)),), (0,))


def test_a_source_that_looks_into_the_future_is_biased():
    target = Toy(3, 1, "full")

    def run(rng):
        uniforms, tokens = Peekable(rng), []
        drafter = Cascade(Clairvoyant(uniforms))
        plan = lambda: Fixed(1)  # noqa: E731
        next(speculative(target, drafter, tokens, plan, keep_all, TokenRule(uniforms)))
        return tokens[0]

    probs = target.probs(())
    assert law(run) != {token: probs[token] for token in range(3) if probs[token]}
