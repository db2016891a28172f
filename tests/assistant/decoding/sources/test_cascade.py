"""`Cascade`: the offers of several sources to one plan."""

from types import SimpleNamespace

import pytest

from assistant.decoding.lookahead.plans import FixedPlan
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.sources.draft import Cascade, Run, Source
from assistant.engine.control import Control
from assistant.engine.rounds import Rounds
from models.errors import UsageError
from tests.assistant.engine.counting_target import CountingTarget, greedy


class Copied(Source):
    """Offers one run, and remembers what it has read."""

    def __init__(self, name, *run):
        self.name, self._run, self.have_read = name, run, tuple[int, ...]()

    def read(self, tokens):
        self.have_read = tuple(tokens)

    def offer(self, tokens, budget):
        return Run(self.name, self._run[:budget], (0,) * min(budget, len(self._run)))


def mask_of(*allowed, only=None):
    """Return a mask that allows the same tokens everywhere."""

    def count(tokens, run):
        return next((i for i, token in enumerate(run) if token not in allowed), len(run))

    return SimpleNamespace(count_allowed=count, only_token=lambda _: only, masked=lambda *_: None)


def proposed(cascade, budget=9):
    return cascade.propose([5, 6], FixedPlan(budget), greedy, CoupledRule(0).draw).tokens


def test_every_source_reads_the_context_before_a_draft():
    first, second = Copied("first", 1), Copied("second", 2)
    assert proposed(Cascade(first, second), 2) == (1, 1)
    assert first.have_read == second.have_read == (5, 6)


def test_a_run_is_offered_up_to_the_first_token_that_the_constraint_forbids():
    cascade = Cascade(Copied("copy", 1, 2, 3, 1), mask=mask_of(1, 2))
    assert proposed(cascade, budget=4) == (1, 2, 1, 2)  # the same run is offered twice
    assert proposed(Cascade(Copied("copy", 3, 1), mask=mask_of(1, 2))) == ()


def test_a_cut_run_has_no_more_certain_tokens_than_tokens():
    run = Run("form", (1, 2, 3), (0, 1, 2), certain=2)
    assert [run.first(count).certain for count in range(4)] == [0, 1, 2, 2]
    assert run.first(1) == Run("form", (1,), (0,), certain=1)


def rounds_of(tokens, mask):
    return Rounds(
        CountingTarget(), tokens, Cascade(), CoupledRule(0), greedy, Control("ars"),
        mask=mask, forced=lambda tokens: 9,
    )  # fmt: skip


def test_a_constraint_takes_precedence_over_a_forced_token():
    """Where it leaves one token, that one comes; where it leaves none, none does."""
    tokens = [5]
    next(iter(rounds_of(tokens, mask_of(only=7))))
    assert tokens == [5, 7]
    with pytest.raises(UsageError):
        next(iter(rounds_of(tokens, mask_of())))
