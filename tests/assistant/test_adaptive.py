"""The adaptive lookahead on a clock of its own: it finds what pays and never loses much."""

import random

import pytest

from assistant.control import Control
from assistant.decoding import Proposed, Round, Sampled
from assistant.events import Origin
from assistant.lookahead.adaptive import ALLOWANCE, LOSS_ALLOWED, AdaptiveLookahead
from assistant.lookahead.costs import Costs
from assistant.lookahead.policy import FIXED_LOOKAHEAD, lookahead
from assistant.lookahead.theory import expected_tokens
from assistant.request import Message, Request
from assistant.warp import one_hot

FLAT = Costs({1: 1.0, 2: 1.05, 4: 1.1, 8: 1.2}, draft=0.1)  # a machine that likes batches
STEEP = Costs({1: 1.0, 2: 1.9, 4: 3.6, 8: 7.0}, draft=0.4)


def round_of(k: int, accepted: int) -> Round:
    origins = [Origin.DRAFT] * accepted + [Origin.RESIDUAL if accepted < k else Origin.TARGET]
    tokens = (Sampled(0, origin, "m", one_hot(0), one_hot(0), 0.5) for origin in origins)
    ghost = Proposed(0, "m", one_hot(0), None, None)
    return Round(tuple(tokens), (ghost,) * (k - accepted))


def simulate(adaptive, acceptance, costs, rounds=3000, seed=1, real=None):
    """Decode on a fake clock; return the time it took, the time of ArS, and the lookaheads."""
    rng, clock, tokens, chosen = random.Random(seed), 0.0, 0, []
    for i in range(rounds):
        k = adaptive.choose().k
        accepted = 0
        while accepted < k and rng.random() < acceptance(i):
            accepted += 1
        seconds = (real or costs).round(k) * rng.uniform(0.97, 1.03)
        round_ = round_of(k, accepted)
        adaptive.observe(round_, seconds)
        clock += seconds
        tokens += len(round_.tokens)
        chosen.append(k)
    return clock, tokens * (real or costs).round(0), chosen


def test_expected_tokens_is_the_geometric_sum():
    assert expected_tokens(0.5, 3) == pytest.approx(1.875)
    assert expected_tokens(1, 3) == 4
    assert expected_tokens(0, 3) == expected_tokens(0.9, 0) == 1


def test_a_machine_that_likes_batches_speculates_deeply_on_easy_text():
    clock, ars, chosen = simulate(AdaptiveLookahead(FLAT), lambda i: 0.9, FLAT)
    assert max(set(chosen[500:]), key=chosen[500:].count) == 7
    assert ars / clock > 2


def test_it_stops_where_speculation_does_not_pay_and_looks_again_seldom():
    clock, ars, chosen = simulate(AdaptiveLookahead(STEEP), lambda i: 0.3, STEEP)
    assert chosen[500:].count(0) > 0.95 * len(chosen[500:])
    assert clock <= 1.02 * ars + ALLOWANCE + STEEP.round(7)


def test_it_comes_back_when_the_text_becomes_easy():
    _clock, _ars, chosen = simulate(
        AdaptiveLookahead(FLAT), lambda i: 0.0 if i < 1500 else 0.95, FLAT, rounds=6000
    )
    assert chosen[1000:1500].count(0) > 400
    assert chosen[-500:].count(0) < 250


COLLAPSES = {
    "never accepted": lambda i: 0.0,
    "collapses": lambda i: 0.95 if i < 300 else 0.0,
    "alternates": lambda i: 0.95 if i // 100 % 2 else 0.0,
    "just below": lambda i: 0.4,
}


@pytest.mark.parametrize("acceptance", COLLAPSES.values(), ids=COLLAPSES)
@pytest.mark.parametrize("costs", [FLAT, STEEP], ids=["flat", "steep"])
@pytest.mark.parametrize("truth", [1.0, 1.5, 4.0])
def test_the_time_lost_is_a_fiftieth_and_a_constant(acceptance, costs, truth):
    """`truth`: how much slower rounds of speculation really are than was measured at first."""
    real = Costs({1: 1.0, **{w: truth * t for w, t in costs.verify.items() if w > 1}}, costs.draft)
    clock, ars, _chosen = simulate(AdaptiveLookahead(costs), acceptance, costs, real=real)
    assert clock <= (1 + LOSS_ALLOWED) * ars * 1.005 + 2 * ALLOWANCE + real.round(7)


def test_it_decides_from_past_rounds_alone():
    """The same past gives the same choice: nothing else enters, so the output keeps its law."""
    one, two = AdaptiveLookahead(FLAT), AdaptiveLookahead(FLAT)
    rng = random.Random(3)
    for _ in range(500):
        k = one.choose().k
        assert k == two.choose().k
        accepted, seconds = rng.randint(0, k), rng.uniform(0.5, 3)
        one.observe(round_of(k, accepted), seconds)
        two.observe(round_of(k, accepted), seconds)


@pytest.mark.parametrize("widths", [(1,), (1, 2), (1, 2, 4, 8)])
def test_however_few_widths_were_measured_there_is_a_choice(widths):
    adaptive = AdaptiveLookahead(Costs({w: FLAT.verify[w] for w in widths}, 0.1))
    adaptive.observe(round_of(0, 0), 5.0)
    for _ in range(200):
        adaptive.observe(round_of(0, 0), 1.0)
        assert adaptive.choose().k + 1 in widths
    assert adaptive.choose(at_least=1).k >= min(1, len(widths) - 1)
    assert isinstance(adaptive.pays(1.0, 200), bool)


def test_rounds_of_other_lookaheads_are_learnt_from_too():
    adaptive = AdaptiveLookahead(FLAT)
    before = adaptive.acceptance_rate
    adaptive.observe(round_of(5, 0), 1.0)
    assert adaptive.acceptance_rate < before


def test_a_clock_that_stands_still_or_leaps_is_survived():
    adaptive = AdaptiveLookahead(FLAT)
    for seconds in (1e-9, 1e9, 1e-7, 3600.0) * 50:
        k = adaptive.choose().k
        adaptive.observe(round_of(k, 0), seconds)
    assert adaptive.choose().k in (0, 1, 3, 7)


def asked(mode, k=None, seed=None, adaptive=None, unread=0, seconds=0.0):
    request = Request((Message("user", "?"),), mode=mode, lookahead=k, seed=seed)
    return lookahead(request, Control(mode, k), adaptive, unread, seconds).k


def test_ars_never_speculates_and_a_chosen_lookahead_is_obeyed():
    adaptive = AdaptiveLookahead(FLAT)
    assert asked("ars", 5, adaptive=adaptive) == 0
    assert asked("sps", 5, adaptive=adaptive) == 5
    assert asked("sps", 0, adaptive=adaptive) == 0


def test_a_seed_takes_the_clock_out_of_the_choice():
    assert asked("sps", seed=1, adaptive=AdaptiveLookahead(STEEP)) == FIXED_LOOKAHEAD
    assert asked("auto", seed=1, adaptive=AdaptiveLookahead(FLAT)) == 0


def test_sps_speculates_even_at_a_loss_and_auto_does_not():
    adaptive = AdaptiveLookahead(STEEP)
    adaptive.acceptance_rate = 0.1
    assert asked("sps", adaptive=adaptive) > 0
    assert asked("auto", adaptive=adaptive) == 0


def test_a_draft_that_would_have_to_read_too_long_is_not_begun():
    adaptive = AdaptiveLookahead(FLAT)
    assert asked("auto", adaptive=adaptive, unread=50, seconds=1e9) > 0
    assert asked("auto", adaptive=adaptive, unread=5000, seconds=1.0) == 0
    assert asked("auto", adaptive=adaptive, unread=5000, seconds=1e-6) > 0
