"""How a loaded pair is timed, with a clock that only moves when a model computes."""

from statistics import median

import numpy as np
import pytest

from assistant.engine import measurement
from assistant.engine.measurement import FIRST_LOOK_S, SETTLED, SHALLOW, CostLooks, Look
from assistant.engine.times import KEPT, Times, nothing_seen
from models.errors import Cancelled
from tests.assistant.engine.stopwatched import Stopwatched


class Machine:
    """A target and a draft on one clock; `pace` is how many times as long all of it takes."""

    def __init__(self, kernel=lambda width: 0.004 * (4 + width), pace=lambda: 1.0, **target):
        self.now = 0.0
        self.target = self._model(lambda width, depth: kernel(width) * pace(), **target)
        self.draft = self._model(lambda width, depth: 0.003 * (2 + width) * pace(), max_rows=1)

    def _model(self, kernel, **options):
        def timed(width, depth):
            took = kernel(width, depth)
            self.now += took
            return took

        return Stopwatched(timed, **options)

    def looks(self, typical=({}, {}), draft=True):
        times = nothing_seen(typical[0], 1), nothing_seen(typical[1])
        return CostLooks(self.target, self.draft if draft else None, *times, lambda: self.now)


def noisy(seed=7, deviation=0.8):
    """Chances that a machine beside others takes a fifth to five times as long."""
    rng = np.random.default_rng(seed)
    return lambda: float(np.exp(rng.normal(0, deviation)))


def test_a_first_look_finds_what_rounds_take_in_evaluations_of_one_token():
    looks = Machine().looks()
    looks.first()
    plain_s = 0.004 * 5
    assert looks.verify.seconds == pytest.approx(
        {n: 0.004 * (4 + n) for n in (1, 2, 3, 4, 8, 16, 32)}
    )
    assert looks.reading.seconds == pytest.approx({n: 0.003 * (2 + n) for n in (1, 2, 8, 64)})
    assert looks.reading.ratio(1)[0] == pytest.approx(0.009 / plain_s)


def test_a_machine_that_changes_its_pace_shows_the_same_ratios():
    """From second to second it takes up to three times as long, as beside other programs."""
    machine = Machine(pace=lambda: 2 + np.sin(machine.now * 6))
    looks = machine.looks()
    looks.first()
    for n in (2, 3, 4, 8):
        assert looks.verify.ratio(n)[0] == pytest.approx((4 + n) / 5, rel=0.08)


def test_a_look_takes_what_is_beside_it_for_its_measure():
    machine = Machine(pace=lambda: 1.0 if machine.now < 10 else 5.0)
    looks = machine.looks()
    looks.take([Look(machine.target, looks.verify, 4)])
    machine.now = 10
    looks.take([Look(machine.target, looks.verify, 4)])
    assert looks.verify.ratios[4] == pytest.approx([8 / 5] * 2)


def test_where_the_machine_is_too_noisy_what_is_typical_decides():
    def error(seed, typical):
        looks = Machine(pace=noisy(seed)).looks((typical, {}))
        looks.first()
        return median(abs(np.log(looks.verify.ratio(n)[0] * 5 / (4 + n))) for n in (2, 3, 4, 8))

    typical = {2: 1.2, 3: 1.4, 4: 1.6, 8: 2.4}
    alone, helped = (sum(error(seed, each) for seed in range(20)) for each in ({}, typical))
    assert helped < 0.5 * alone


@pytest.mark.parametrize("deviation", [0.06, 0.2, 0.5])
def test_the_error_that_is_stated_is_the_error_that_is_made(deviation):
    """On busy machines as well: two looks alone would not know how far apart they may be."""
    errors = []
    for seed in range(60):
        looks = Machine(pace=noisy(seed, deviation)).looks()
        looks.first()
        for n in (2, 3, 4, 8):
            ratio, stated = looks.verify.ratio(n)
            errors.append(abs(np.log(ratio * 5 / (4 + n))) / stated)
    assert 0.5 < np.median(errors) < 1.0  # 0.67 of a normal law


def test_on_a_machine_at_rest_what_is_typical_elsewhere_hardly_counts():
    looks = Machine().looks(({2: 1.7, 3: 2.4, 4: 2.6, 8: 5.4}, {1: 0.9}))
    looks.first()
    assert looks.verify.ratio(2)[0] == pytest.approx(6 / 5, rel=0.03)
    assert looks.verify.ratio(8)[0] == pytest.approx(12 / 5, rel=0.06)


def test_more_looks_are_more_certain_and_at_last_there_are_enough():
    looks = Machine().looks()
    looks.first()
    before, count = looks.verify.ratio(2)[1], 1
    while not looks.again():
        count += 1
    assert count < 7 * KEPT
    assert looks.verify.ratio(2)[1] < min(before, SETTLED)
    assert looks.reading.ratio(1)[1] < SETTLED


def test_a_machine_that_never_rests_is_looked_at_often_enough_and_no_more():
    looks, count = Machine(pace=noisy()).looks(), 1
    while not looks.again():
        count += 1
    assert 5 * KEPT < count <= 7 * KEPT


def test_the_cached_tokens_are_the_same_after_a_measurement():
    machine = Machine()
    for model in (machine.target, machine.draft):
        model.logits([1, 2, 3])
    machine.looks().again()
    assert [list(model.cached_tokens) for model in (machine.target, machine.draft)] == [
        [1, 2, 3]
    ] * 2


def test_after_a_long_text_nothing_is_looked_at():
    machine = Machine()
    machine.target.logits([1] * 2000)
    before = len(machine.target.widths)
    assert machine.looks().again()
    assert len(machine.target.widths) == before


@pytest.mark.parametrize(("typical", "widths"), [({}, {SHALLOW, 1, 4}), ({4: 1.7}, {SHALLOW, 1})])
def test_a_huge_target_is_timed_at_no_more_than_is_needed(typical, widths):
    machine = Machine(kernel=lambda width: 2.0 + width)
    machine.looks((typical, {}), draft=False).first()
    assert {*machine.target.widths} == widths


def test_of_a_draft_something_is_seen_however_slow_the_machine():
    looks = Machine(kernel=lambda width: 2.0 + width).looks(({4: 1.7}, {1: 0.3, 2: 0.4}))
    looks.first()
    assert looks.reading.plain
    assert {1, 2} <= {*looks.seconds[1]}


def test_no_look_is_begun_once_time_is_over():
    machine = Machine(kernel=lambda width: 0.05 * width)
    machine.looks().first()
    assert machine.now < FIRST_LOOK_S + SHALLOW * 0.05 + 32 * 0.05 + 0.1


@pytest.mark.parametrize(("rollback", "widths"), [(2, {2, 3}), (6, {2, 3, 4, 7}), (1, {2})])
def test_a_target_is_timed_as_wide_as_it_can_roll_back(rollback, widths):
    machine = Machine()
    machine.target.rollback = rollback
    looks = machine.looks()
    looks.first()
    assert {*looks.verify.ratios} == {1, *widths}


@pytest.mark.parametrize("n_ctx", [20, 48, 200])
def test_a_small_context_is_never_exceeded(n_ctx):
    looks = Machine(n_ctx=n_ctx).looks()
    looks.first()
    assert {1, 4} <= {*looks.verify.seconds}


def test_neighbouring_tokens_differ_as_a_mixture_of_experts_would_notice():
    tokens = measurement.varied(64, 151_936)
    assert len(set(tokens)) == 64
    assert max(measurement.varied(1000, 7)) == 6


def test_looks_beside_a_busy_program_count_for_little_once_an_answer_was_calm():
    """It takes the draft's small evaluations relatively longer than the target's large ones."""
    typical = {2: 1.2, 4: 1.75}, {1: 0.28, 2: 0.36, 8: 0.9}
    machine = Machine(kernel=lambda width: 0.2 + 0.01 * width)
    machine.draft = machine._model(lambda width, depth: 0.15, max_rows=1)
    looks = machine.looks(typical)
    looks.first()
    assert looks.seconds[1][1] / looks.seconds[0][1] > 0.33
    assert 0.03 < looks.doubted_s < 0.2
    looks.doubt(0.03)
    verify, draft = looks.seconds
    assert [verify[n] / verify[1] for n in (2, 4)] == pytest.approx([1.2, 1.75], rel=0.02)
    assert draft[1] / verify[1] == pytest.approx(0.28, rel=0.03)
    assert looks.doubted_s < 0.029  # once is enough
    assert not looks.is_clear


@pytest.mark.parametrize("what", ["first", "again"])
def test_a_cancel_is_obeyed_at_once(what):
    machine = Machine()
    machine.target.stop_after = 3
    with pytest.raises(Cancelled):
        getattr(machine.looks(), what)()
    assert len(machine.target.widths) == 4


def test_only_the_newest_ratios_are_kept():
    times = Times([], {})
    for number in range(2 * KEPT):
        times.saw(2, 1.0 + number, 1.0)
    assert times.ratios[2] == [1.0 + number for number in range(KEPT, 2 * KEPT)]
