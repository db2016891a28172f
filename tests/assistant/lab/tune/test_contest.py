"""Settings compete in turns, and win only clearly."""

from itertools import cycle

import pytest

from assistant.lab.tune import settings_trial
from assistant.lab.tune.settings_trial import Candidate, Result, candidates, winners
from assistant.request import Tuning
from models.native.loaded import library
from tests.assistant.engine.stopwatched import Stopwatched

WIDTHS = (1, 2, 4, 8)


def contest(usual_s, other_s, widths=WIDTHS):
    """Hold a contest of models whose evaluations take such seconds per token, over and over."""
    usual, other = pair()
    seconds = {usual: cycle(usual_s), other: cycle(other_s)}

    def timer(model, width, depth):
        return next(seconds[model]) * width

    return settings_trial.contest(usual, other, widths, 16, timer)


def pair():
    return [Stopwatched(lambda width, depth: 1.0) for _ in range(2)]


def test_noise_and_drift_hit_both_alike_and_cancel():
    usual, other = pair()
    now = iter(range(1, 1000))  # every evaluation takes longer than the one before

    def drifting(model, width, depth):
        return (1 + next(now) / 1000) * width * (0.8 if model is other else 1.0)

    result = settings_trial.contest(usual, other, WIDTHS, 16, drifting)
    assert result.ratio == pytest.approx(0.8, rel=0.01)
    assert result.is_faster


def test_each_goes_first_half_of_the_time():
    usual, other = pair()
    order = []

    def noting(model, width, depth):
        order.append(model)
        return 1.0

    settings_trial.contest(usual, other, (1,), 16, noting)
    assert order[:4] == [usual, other, other, usual]


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
    monkeypatch.setattr(settings_trial, "other_counts", lambda: [1, 8])
    assert {c.value for c in candidates(None) if c.setting == "threads"} == {1, 8}
    assert not [c for c in candidates(4) if c.setting == "threads"]


def test_where_repacking_would_crash_nobody_tries_without(monkeypatch):
    monkeypatch.setattr(library(), "can_repack", lambda: False)
    assert not [c for c in candidates(None) if c.setting == "repack"]
