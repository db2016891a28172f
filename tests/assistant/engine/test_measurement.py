"""How a loaded model is timed, with a clock that only moves when the model computes."""

from itertools import cycle

import pytest

from assistant.engine import measurement
from assistant.engine.measurement import time_draft, time_target
from models.errors import Cancelled
from tests.assistant.engine.stopwatched import Stopwatched


def linear(width: int, depth: int) -> float:
    return 0.001 * (4 + width)


def test_a_fast_target_is_timed_at_every_width_and_noise_is_left_out():
    model = Stopwatched(linear, noise=cycle([0.03, 0.0, 0.0]).__next__)
    times = time_target(model, model.clock)
    assert set(times.seconds) == {1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 32}
    found = {width: times.seconds[width] for width in (1, 2, 4, 8)}
    assert found == pytest.approx({width: linear(width, 0) for width in found})


def test_a_huge_target_is_timed_at_the_two_widths_without_which_there_is_no_curve():
    model = Stopwatched(lambda width, depth: 2.0 + width)
    times = time_target(model, model.clock)
    assert set(times.seconds) == {1, 4}
    assert len(model.widths) == 3  # and the context


def test_nothing_new_is_begun_once_patience_is_over():
    model = Stopwatched(lambda width, depth: 0.05 * width)
    time_target(model, model.clock)
    last = 0.05 * model.widths[-1]
    assert model.now < measurement.TARGET_LIMIT_S + 1.0 + last


@pytest.mark.parametrize(
    ("rollback", "widths"), [(2, {1, 2, 3}), (6, {1, 2, 3, 4, 5, 6, 7}), (0, {1, 4, 16, 32})]
)
def test_a_target_is_timed_as_wide_as_it_can_roll_back(rollback, widths):
    model = Stopwatched(linear)
    model.rollback = rollback
    found = set(time_target(model, model.clock).seconds)
    assert found >= widths
    assert not rollback or found == widths


def test_a_target_that_cannot_roll_back_tokens_is_timed_at_one():
    model = Stopwatched(linear, can_roll_back=False)
    assert time_target(model, model.clock).seconds == pytest.approx({1: linear(1, 0)})


def test_a_draft_is_timed_at_a_step_and_at_what_it_catches_up_asking_for_one_row():
    model = Stopwatched(linear, max_rows=1)
    assert set(time_draft(model, model.clock).seconds) == {1, 2, 8, 64}


@pytest.mark.parametrize("n_ctx", [48, 200])
def test_a_small_context_is_never_exceeded(n_ctx):
    model = Stopwatched(linear, n_ctx=n_ctx)
    assert {1, 4} < set(time_target(model, model.clock).seconds)
    assert time_draft(model, model.clock).seconds


def test_neighbouring_tokens_differ_as_a_mixture_of_experts_would_notice():
    tokens = measurement.varied(64, 151_936)
    assert len(set(tokens)) == 64
    assert max(measurement.varied(1000, 7)) == 6


@pytest.mark.parametrize("time", [time_target, time_draft])
def test_a_cancel_is_obeyed_at_once(time):
    model = Stopwatched(linear)
    model.stop_after = 3
    with pytest.raises(Cancelled):
        time(model, model.clock)
    assert len(model.widths) == 4
