"""`Rounds` exceed ArS by no more than `Budget` allows, whatever the machine, text and draft."""

import random
from itertools import pairwise
from pathlib import Path
from statistics import geometric_mean

import pytest

from assistant.decoding.lookahead.acceptance import Acceptance
from assistant.decoding.lookahead.budget import (
    ALLOWANCE,
    CAUTIOUS_ALLOWANCE,
    CAUTIOUS_SHARE,
    SHARE,
    SUGGESTION_ALLOWANCE,
    Budget,
)
from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from tests.assistant.decoding.lookahead.simulated_rounds import Machine, Text, answered

EVALUATIONS, PART = 6, 0.03  # what is promised: so much longer, and this part of the tokens
SLIM = {1: 0.013, 2: 0.022, 8: 0.06, 64: 0.35, 512: 2.8}
HALF_B = {1: 0.0225, 2: 0.041, 4: 0.061, 8: 0.111, 64: 0.62, 512: 5.0}
Q4 = {1: 0.044, 2: 0.075, 3: 0.107, 4: 0.118, 5: 0.152, 8: 0.292, 16: 0.383, 32: 0.699}
F16 = {1: 0.097, 2: 0.107, 3: 0.119, 4: 0.149, 5: 0.161, 8: 0.215, 16: 0.372, 32: 0.685}
GPU = {1: 0.020, 4: 0.0205, 8: 0.021, 16: 0.022, 32: 0.025}
MACHINES = {
    "two cores, 4-bit": (Q4, HALF_B),
    "two cores, 16-bit": (F16, HALF_B),
    "16-bit, slim draft": (F16, SLIM),
    "flat": (GPU, {1: 0.002, 8: 0.002, 64: 0.003, 512: 0.010}),
}


def left(tokens: int, lost: float, cautious: bool = False) -> float:
    budget = Budget()
    budget.add(tokens)
    budget.add(0, lost)
    return budget.left(cautious)


@pytest.mark.parametrize(
    ("tokens", "lost", "expected"),
    [
        (0, 0.0, ALLOWANCE),
        (0, ALLOWANCE, 0.0),
        (50, 2.0, ALLOWANCE + 50 * SHARE - 2),
        (0, -2.0, ALLOWANCE + 2),  # what was saved pays for what is lost
        (10, 10.0, 0.0),
        (1000, 10.0, ALLOWANCE + 1000 * SHARE - 10),  # a long answer may lose its share
    ],
)
def test_an_answer_may_lose_the_allowance_and_a_share_of_its_tokens(tokens, lost, expected):
    assert left(tokens, lost) == pytest.approx(expected)


@pytest.mark.parametrize("lost", [-2.0, 0.0, 0.3, 5.0])
@pytest.mark.parametrize("tokens", [0, 10, 80, 100, 1000])
def test_the_cautious_budget_is_smaller_for_short_answers_alone(tokens, lost):
    most = CAUTIOUS_ALLOWANCE + CAUTIOUS_SHARE * tokens
    expected = max(0.0, min(left(tokens, 0.0), most) - lost)
    assert left(tokens, lost, cautious=True) == pytest.approx(expected)
    assert (left(tokens, 0.0, cautious=True) < left(tokens, 0.0)) == (tokens < 87)


@pytest.mark.parametrize(
    ("tokens", "lost", "expected"), [(0, 0.0, 0.1), (10, 0.0, 0.6), (0, 0.2, 0.0), (0, -2.0, 2.1)]
)
def test_a_suggestion_may_lose_less_from_its_first_token_on(tokens, lost, expected):
    budget = Budget(of_suggestion=True)
    budget.add(tokens, lost)
    assert budget.left() == budget.left(cautious=True) == pytest.approx(expected)


def machine_of(rng):
    """Return the costs of a machine that was measured, or random ones."""
    if rng.random() < 0.6:
        return rng.choice([*MACHINES.values()])
    verify = {1: 0.05}
    for narrow, wide in pairwise((1, 2, 4, 8, 16, 32)):
        verify[wide] = verify[narrow] * rng.uniform(1.01, 1.95)
    step = 0.05 * rng.uniform(0.02, 0.6)
    reading = {8: (2, 7), 64: (8, 45), 512: (50, 350)}
    return verify, {1: step} | {n: step * rng.uniform(*each) for n, each in reading.items()}


def text_of(rng):
    """Return a text in which the draft is good, bad, or both in turn."""
    quality, period = rng.choice((0, 0.2, 0.4, 0.6, 0.8, 0.95)), rng.randrange(5, 80)
    right = rng.choice(
        (
            lambda i: quality,
            lambda i: 0.0 if i // period % 2 else 0.97,
            lambda i: 0.97 if i < period else 0.0,
            lambda i: 0.0 if i < period else 0.97,
        )
    )
    knows = rng.random() < 0.5
    return Text(
        prompt=rng.choice((20, 60, 200, 600)),
        length=rng.choice((8, 20, 40, 70, 100, 150, 300, 600)),
        right=right,
        margin=rng.choice((0, 5, 9)),
        bucket=lambda is_right: rng.randrange(6, 10) if is_right or not knows else 1,
        repeats=rng.choice((0, 0.1, 0.3)),
        rng=rng,
    )


def disturbances_of(rng, seconds):
    """Return how the machine's speed changes, for all evaluations or for batches alone."""
    factor, moment = rng.choice((1 / 3, 0.5, 2, 3)), rng.uniform(0, seconds)
    period = rng.uniform(5, 100) / 200 * seconds
    return rng.choice(
        (
            {"pace": lambda t: 1 if t < moment else factor},
            {"pace": lambda t: factor if t // period % 2 else 1},
            {"pace": lambda t: 7 if t % period > 0.85 * period else 1},
            {"pace": lambda t: 1 + (factor - 1) * min(1, t / seconds)},
            {"steep": lambda t: 0 if t < moment else 0.6},
            {"steep": lambda t: 0.6 if t // period % 2 else 0},
        )
    )


COSTS = {
    "as measured": (1, 1, 1),
    "a draft twice as dear": (2, 2, 1),
    "a draft three times as dear": (3, 3, 1),
    "steps five times as dear": (5, 1, 1),
    "reading three times as dear": (1, 3, 1),
    "reading five times as dear": (1, 5, 1),
    "a draft at half the price": (0.5, 0.5, 1),
    "batches that are cheaper": (1, 1, 1 / 0.6),
    "batches that are dearer": (1, 1, 1 / 1.7),
    "all of it dearer": (3, 3, 1 / 0.6),
}
"""How many times as long as believed draft steps, its prefill and the target's batches take.

For batches the factor is that of the believed costs instead.
"""
STEADY_COSTS = {
    "a draft five times as dear": (5, 5, 1),
    "a draft eight times as dear": (8, 8, 1),
    "steps eight times as dear": (8, 1, 1),
    "reading eight times as dear": (1, 8, 1),
}
"""The same, too much for a machine that becomes three times as fast at that moment: an evaluation
that is under way cannot be stopped."""


def lost(seed, *, step=1.0, reading=1.0, wide=1.0, is_disturbed=False, noise=0.0, **options):
    """Return what an answer lost, and how many tokens it had."""
    rng = random.Random(seed)
    (verify, draft), text = machine_of(rng), text_of(rng)
    disturbances = disturbances_of(rng, text.length * verify[1]) if is_disturbed else {}
    real = {tokens: s * (step if tokens < 4 else reading) for tokens, s in draft.items()}
    machine = Machine(verify, real, **disturbances, noise=noise, rng=rng)
    believed = {width: s * (1 if width == 1 else wide) for width, s in verify.items()}
    outcome = answered(Controller(Costs(believed, draft)), machine, text, **options)
    return outcome.lost, outcome.tokens


@pytest.mark.parametrize("seed", range(400))
@pytest.mark.some(25)
def test_where_evaluations_take_as_long_as_measured_no_answer_loses_more_than_its_budget(seed):
    evaluations, tokens = lost(seed)
    assert evaluations <= ALLOWANCE + SHARE * tokens + 0.1
    evaluations, tokens = lost(seed, is_suggestion=True)
    assert evaluations <= SUGGESTION_ALLOWANCE + CAUTIOUS_SHARE * tokens + 0.1


@pytest.mark.parametrize(
    ("costs", "is_disturbed"),
    [(each, False) for each in (*COSTS, *STEADY_COSTS)] + [(each, True) for each in COSTS],
)
@pytest.mark.parametrize("first", range(0, 200, 10))
@pytest.mark.some(48)
def test_no_answer_loses_more_than_was_promised_with_any_wrong_costs(costs, is_disturbed, first):
    step, reading, wide = (COSTS | STEADY_COSTS)[costs]
    for seed in range(first, first + 10):
        evaluations, tokens = lost(
            seed, step=step, reading=reading, wide=wide, is_disturbed=is_disturbed, noise=0.1
        )
        assert evaluations <= EVALUATIONS + PART * tokens, seed


@pytest.mark.parametrize("name", ["two cores, 16-bit", "16-bit, slim draft", "flat"])
@pytest.mark.parametrize("prompt", [60, 300])
@pytest.mark.some(3)
def test_a_good_draft_is_prefilled_in_chunks_and_pays(name, prompt):
    verify, draft = MACHINES[name]
    speedups = []
    for seed in range(4):
        text = Text(prompt, 600, right=lambda i: 0.9, margin=8, rng=random.Random(seed))
        machine = Machine(verify, draft)
        outcome = answered(Controller(Costs(verify, draft)), machine, text)
        speedups.append(outcome.speedup)
    assert geometric_mean(speedups) > 1.25


def test_a_bad_draft_is_used_less_from_answer_to_answer_and_after_a_load():
    verify, draft = MACHINES["16-bit, slim draft"]

    def share(acceptance):
        """Draft evaluations of four answers that the draft is no good for."""
        outcomes = [
            answered(
                Controller(Costs(verify, draft), acceptance),
                Machine(verify, draft),
                Text(100, 300, right=lambda i: 0.0, margin=6, rng=random.Random(seed)),
            )
            for seed in range(4)
        ]
        return sum(outcome.draft_evaluations for outcome in outcomes)

    acceptance = Acceptance()
    first, later = share(acceptance), share(acceptance)
    assert first > 0
    assert later < first
    assert share(Acceptance(acceptance.lasting)) < first / 1.5


@pytest.mark.parametrize("page", ["README.md", "docs/how-it-works.md"])
def test_the_pages_promise_what_is_proved_here(page):
    text = (Path(__file__).parents[4] / page).read_text()
    promise = f"at most {EVALUATIONS} plain evaluations and {100 * PART:.0f} % longer than without"
    assert promise in " ".join(text.split())
