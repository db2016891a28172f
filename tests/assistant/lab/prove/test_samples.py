"""Samples compared with their law by a bound that is never too small."""

from itertools import product
from math import factorial, log, prod

import pytest

from assistant.engine.reply import rule_of
from assistant.lab.protocol import FALSE_ALARM
from assistant.lab.prove.proof import TOKENS, check_samples, p_bound
from assistant.request import Request
from tests.assistant.lab.prove import mistakes
from tests.assistant.lab.prove.mistakes import TARGET, sampler


@pytest.mark.parametrize("size", [1, 4, 12])
@pytest.mark.parametrize("law", [(0.5, 0.5), (0.7, 0.2, 0.1), (0.97, 0.01, 0.01, 0.01)])
def test_counts_as_unlikely_or_more_are_never_likelier_than_the_bound(size, law):
    """Of every way to count, by enumeration."""
    given: dict[tuple[int, ...], float] = {(i,): p for i, p in enumerate(law)}
    every = [counts for counts in product(range(size + 1), repeat=len(law)) if sum(counts) == size]
    off = {
        counts: sum(n * log(n / size / p) for n, p in zip(counts, law, strict=True) if n)
        for counts in every
    }
    for counts in every:
        likely = sum(
            factorial(size) * prod(p**n / factorial(n) for n, p in zip(each, law, strict=True))
            for each in every
            if off[each] >= off[counts] - 1e-9
        )
        found: dict[tuple[int, ...], int] = {(i,): n for i, n in enumerate(counts) if n}
        assert p_bound(found, given) >= likely - 1e-9, counts


def test_a_token_of_probability_zero_proves_a_mistake():
    assert p_bound({(0,): 9, (5,): 1}, {(0,): 0.5, (1,): 0.5}) == 0
    assert p_bound({(0,): 10}, {(0,): 1.0}) == 1


def test_samples_have_the_law_of_the_target_by_the_chain_rule():
    texts = product(range(3), repeat=TOKENS)
    expected = {
        text: prod(TARGET[a][b] / 10 for a, b in zip((0, *text), text, strict=False))
        for text in texts
    }
    assert sampler().law == pytest.approx({text: p for text, p in expected.items() if p}, rel=1e-5)


@pytest.mark.parametrize("rule", ["token", "block"])
def test_a_rule_without_a_seed_has_the_law_of_the_target(rule):
    """P < 1e-6 to fail: that is `FALSE_ALARM`."""
    check = check_samples(rule, sampler(), rule_of(Request((), rule=rule)), 1000, 1)
    assert check.holds, check
    assert check.figures["proposed by model"] > 1000


def test_each_rule_has_the_law_and_each_mistake_has_not():
    """The chance of these samples is the same each time."""
    for check, is_right in mistakes.checks():
        assert check.holds is is_right, check.what
        assert is_right or (check.p_value is not None and check.p_value < FALSE_ALARM / 1e6)


def test_a_target_is_evaluated_once_for_all_answers():
    own = sampler()
    before = own._target.row.cache_info().misses
    own.draw(rule_of(Request(())), 50)
    assert before == 1 + 3 + 8
    assert own._target.row.cache_info().misses < before + 6  # after what the target forbids


def test_samples_where_nothing_was_proposed_prove_nothing():
    check = check_samples("alone", sampler(sources=[]), rule_of(Request(())), 50, 1)
    assert (check.holds, check.note) == (None, "nothing was proposed")
