"""Settings compete in turns, and win only clearly."""

from dataclasses import replace
from itertools import count, cycle

import pytest

from assistant.lab.tune import contest as module
from assistant.lab.tune.contest import Candidate, Result, candidates, winners
from assistant.request import Tuning
from models.native import loaded

WIDTHS = (1, 2, 4, 8)


def contest(usual_s, other_s, widths=WIDTHS):
    """Hold a contest of two whose evaluations take such seconds per token, over and over."""
    seconds = {"usual": cycle(usual_s), "other": cycle(other_s)}
    timer = lambda name, width: next(seconds[name]) * width  # noqa: E731
    return module.contest("usual", "other", widths, timer)


def test_noise_and_drift_hit_both_alike_and_cancel():
    now = count(1)  # every evaluation takes longer than the one before

    def drifting(name, width):
        return (1 + next(now) / 1000) * width * (0.8 if name == "other" else 1.0)

    result = module.contest("usual", "other", WIDTHS, drifting)
    assert result.ratio == pytest.approx(0.8, rel=0.01)
    assert result.is_faster


def test_each_goes_first_half_of_the_time():
    order = []
    module.contest("usual", "other", (1,), lambda name, width: order.append(name) or 1.0)
    assert order[:4] == ["usual", "other", "other", "usual"]


def test_one_lucky_evaluation_wins_nothing():
    result = contest([1.0], [0.5, *[1.01] * 19], (1,))
    assert result.ratio == 0.5
    assert not result.is_faster


def test_a_little_faster_is_not_worth_being_different():
    assert not contest([1.0], [0.98]).is_faster


def test_the_best_of_each_setting_wins():
    four, six = Candidate("threads: 4", "threads", 4), Candidate("threads: 6", "threads", 6)
    plain, flash = Candidate("plain", "repack", False), Candidate("no", "flash_attention", False)
    results = {four: 0.9, six: 0.8, plain: 0.95, flash: 1.1}
    chosen = winners({each: Result({1: ratio}, 1.0) for each, ratio in results.items()})
    assert set(chosen) == {six, plain}
    assert plain.on(six.on(Tuning())) == Tuning(repack=False, threads=6)


def test_threads_that_a_user_chose_are_not_touched(monkeypatch):
    monkeypatch.setattr(module, "other_counts", lambda: [1, 8])
    assert {c.value for c in candidates(None) if c.setting == "threads"} == {1, 8}
    assert not [c for c in candidates(4) if c.setting == "threads"]


def test_where_repacking_would_crash_nobody_tries_without(monkeypatch):
    fixed = replace(loaded.engine(), can_repack=False)
    monkeypatch.setattr(loaded, "_loaded", (loaded.in_use(), fixed))
    assert not [c for c in candidates(None) if c.setting == "repack"]
