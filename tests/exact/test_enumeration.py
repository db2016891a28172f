"""Every rule, source and plan over every toy has exactly the law of the target.

The mutants show that it would be noticed if it had not, one that looks at the drawn token among
them; that the coupled rule does not mind that is in `rules/test_coupled`.
"""

import itertools
from collections import defaultdict
from fractions import Fraction
from functools import partial

import pytest

from assistant.decoding.loops import autoregressive
from assistant.decoding.rules.rule import draw
from tests.exact.answer import by_every_rule
from tests.exact.coupling import brief, differing
from tests.exact.enumeration import CONTROLLER, FIXED, RULES, WHIMS, cases
from tests.exact.exact_rows import keep_all, row_of
from tests.exact.law import distance, law
from tests.exact.law_of_rounds import a_round
from tests.exact.shipped_sources import SOURCES
from tests.exact.toy import Toy, chain_rule
from tests.exact.toy_sources import modelled

EVERY = list(cases())
THOROUGH = list(cases(thorough=True))


def title(case):
    return f"{case.source}, {case.stop}"


def has_the_law_of_the_target(case):
    assert {name: case.distance(rule)[0] for name, rule in RULES.items()} == dict.fromkeys(RULES, 0)
    if case.target.n_vocab < 4:  # there are too many noises of four tokens
        assert differing(brief(case)) == 0
    assert len(case.lookaheads) > 1 or case.stop != CONTROLLER


@pytest.mark.parametrize("case", EVERY, ids=title)
def test_each_rule_has_the_law_of_the_target(case):
    has_the_law_of_the_target(case)
    if case.source in SOURCES and case.stop == FIXED:  # that its sources did propose
        names = set(case.source.split(", "))
        assert set() < case.seen <= names
        assert len(case.seen) == len(names) or "random" in names or case.length < 3


@pytest.mark.some(6)
@pytest.mark.parametrize("case", THOROUGH, ids=title)
def test_each_rule_has_the_law_of_the_target_with_more_tokens_and_seeds(case):
    has_the_law_of_the_target(case)


def test_the_distance_is_the_total_variation():
    half, third = Fraction(1, 2), Fraction(1, 3)
    assert distance({0: half, 1: half}, {0: half, 1: half}) == 0
    assert distance({0: half, 1: half}, {1: third, 2: 1 - third}) == Fraction(2, 3)


def test_every_source_and_every_way_of_deciding_is_enumerated():
    for every in EVERY, THOROUGH:
        assert {case.source for case in every} >= set(SOURCES)
        assert {case.stop for case in every} == {FIXED, WHIMS, CONTROLLER}
    assert len(THOROUGH) > len(EVERY)


def test_enumeration_gives_each_token_of_a_part_of_a_row_its_share():
    row = row_of([Fraction(1, 4), 0, Fraction(1, 6), Fraction(1, 12)])
    shares = {0: Fraction(1, 2), 2: Fraction(1, 3), 3: Fraction(1, 6)}
    assert law(lambda rng: draw(row, rng)) == shares


@by_every_rule
def test_autoregressive_tokens_follow_the_chain_rule(rule):
    target = Toy(4, 1, "zeros")

    def run(rng):
        tokens: list[int] = []
        for _ in itertools.islice(autoregressive(target, tokens, keep_all, rule(rng)), 3):
            pass
        return tuple(tokens)

    assert law(run) == chain_rule(target, 3)


@by_every_rule
def test_provenance_says_where_each_token_was_drawn(rule):
    target, draft = Toy(3, 1), Toy(3, 2)
    seen = defaultdict[tuple[str, ...], Fraction](Fraction)
    for round_, probability in law(partial(a_round, rule, target, modelled(draft), 1)).items():
        seen[tuple(token.origin.value for token in round_.tokens)] += probability
        for i, token in enumerate(round_.tokens):
            before = tuple(each.id for each in round_.tokens[:i])
            assert token.target_row.prob(token.id) == target.probs(before)[token.id] > 0
    overlap = sum(map(min, target.probs(()), draft.probs(())))
    assert seen == {("draft", "target"): overlap, ("residual",): 1 - overlap}
