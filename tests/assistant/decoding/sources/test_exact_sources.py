"""The law of what decoding yields from free sources, by exact enumeration: no tolerance.

Sources remember what was said and proposed, so whole loops are enumerated, over several rounds.
"""

from fractions import Fraction

import pytest

from assistant.decoding.lookahead.policy import Fixed
from assistant.decoding.loops import speculative
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Copying, Run
from assistant.decoding.sources.frequency import RandomSource
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.sources.tail import TailSource
from assistant.lab.prove.law import law
from tests.exact.exact_rows import keep_all
from tests.exact.shipped_sources import SOURCES, START, by_counts
from tests.exact.toy import Toy, chain_rule

by_every_rule = pytest.mark.parametrize("rule", [TokenRule, BlockRule])


def law_of_loop(rule, target, sources, k, length, start=START):
    """Return the law of the first `length` tokens, and which sources proposed any."""
    proposed = set()

    def run(rng):
        tokens = list(start)
        drafter = Cascade(*sources())
        rounds = speculative(target, drafter, tokens, lambda: Fixed(k), by_counts, rule(rng))
        while len(tokens) < len(start) + length:
            round_ = next(rounds)
            tests = [*round_.tokens, *round_.rejected]
            proposed.update(each.proposal.source for each in tests if each.proposal)
        return tuple(tokens[len(start) :][:length])

    return law(run), proposed


@by_every_rule
@pytest.mark.parametrize("names", [names for names in SOURCES if names != "random"])
def test_a_loop_has_the_law_of_the_target_whatever_proposes(rule, names):
    target = Toy(3, 5, "full")
    found, proposed = law_of_loop(rule, target, lambda: SOURCES[names](3), 2, 3)
    assert found == chain_rule(target, 3, start=START)
    assert proposed == set(names.split(", "))


@pytest.mark.parametrize("names", ["ngram", "suffix, tail", "suffix, ngram, bigram"])
@by_every_rule
def test_longer_loops_have_the_law_of_the_target(rule, names):
    target = Toy(3, 6, "full")
    found, proposed = law_of_loop(rule, target, lambda: SOURCES[names](3), 3, 4)
    assert found == chain_rule(target, 4, start=START)
    assert proposed == set(names.split(", "))


@by_every_rule
@pytest.mark.parametrize("seed", range(4))
def test_copies_have_the_law_of_the_target_over_many_rounds(rule, seed):
    target = Toy(2, seed, "full")
    sources = lambda: [SuffixSource(), TailSource()]  # noqa: E731
    found, proposed = law_of_loop(rule, target, sources, 3, 6, (0, 1, 0, 0, 1))
    assert found == chain_rule(target, 6, start=(0, 1, 0, 0, 1))
    assert proposed == {"suffix", "tail"}


@by_every_rule
def test_guesses_have_the_law_of_the_target(rule):
    target = Toy(2, 3, "full")
    found, proposed = law_of_loop(rule, target, lambda: [RandomSource(2)], 2, 3)
    assert found == chain_rule(target, 3, start=START)
    assert proposed == {"random"}


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
