"""The provenance of tokens, by enumeration; `test_enumeration` has the law of rounds."""

import itertools
from collections import defaultdict
from fractions import Fraction
from functools import partial

from assistant.decoding.loops import autoregressive
from assistant.decoding.rules.rule import draw
from tests.exact.answer import by_every_rule
from tests.exact.exact_rows import keep_all, row_of
from tests.exact.law import law
from tests.exact.law_of_rounds import a_round
from tests.exact.toy import Toy, chain_rule
from tests.exact.toy_sources import modelled


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
