"""What rounds tell, by exact enumeration of the code as it is; `test_enumeration` has their law."""

import itertools
from collections import defaultdict
from fractions import Fraction
from functools import partial

from assistant.decoding.lookahead.plans import FixedPlan
from assistant.decoding.loops import autoregressive, speculative
from assistant.decoding.rules.rule import draw
from tests.exact.answer import by_every_rule
from tests.exact.exact_rows import keep_all, row_of
from tests.exact.law import law
from tests.exact.toy import Toy, chain_rule
from tests.exact.toy_sources import modelled


def a_round(rule, target, drafter, k, rng, warp=keep_all):
    """Return a round that proposes `k` tokens."""
    plan = FixedPlan(k)
    return next(speculative(target, drafter, [], lambda: plan, warp, rule(rng)))


def law_of_round(rule, target, drafter, k, warp=keep_all):
    """Return the law of the tokens that one round yields."""
    rounds = partial(a_round, rule, target, drafter, k, warp=warp)
    return law(lambda rng: tuple(each.id for each in rounds(rng).tokens))


def law_of_acceptance(rule, target, drafter, k):
    """Return the law of how many proposals of a round are accepted."""
    return law(lambda rng: a_round(rule, target, drafter, k, rng).accepted)


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
    seen, rounds = defaultdict(Fraction), law(partial(a_round, rule, target, modelled(draft), 1))
    for round_, probability in rounds.items():
        kinds = tuple(token.origin.value for token in round_.tokens)
        seen[kinds] += probability
        for i, token in enumerate(round_.tokens):
            before = tuple(each.id for each in round_.tokens[:i])
            assert token.target_row.prob(token.id) == target.probs(before)[token.id] > 0
    overlap = sum(map(min, target.probs(()), draft.probs(())))
    assert seen == {("draft", "target"): overlap, ("residual",): 1 - overlap}
