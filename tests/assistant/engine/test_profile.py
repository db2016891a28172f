"""`Profile`: the measurement of a loaded pair, on a clock that only evaluations advance."""

from statistics import median

import numpy as np
import pytest

from assistant.engine.model_profile import LIMIT, ModelProfile
from assistant.engine.profile import MEASURING_S, SETTLED, SHALLOW, Evaluation, Profile, probe_text
from models.errors import Cancelled
from tests.assistant.engine.simulated_model import SimulatedModel


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

        return SimulatedModel(timed, **options)

    def profile(self, typical=({}, {}), draft=True):
        drafts = self.draft.conditions if draft else None
        profile = Profile(self.target, drafts, None, typical, lambda: self.now)
        profile.draft = self.draft if draft else None
        return profile


def noisy(seed=7, deviation=0.8):
    """Chances that a machine beside others takes a fifth to five times as long."""
    rng = np.random.default_rng(seed)
    return lambda: float(np.exp(rng.normal(0, deviation)))


def test_a_measurement_gives_costs_as_ratios_to_one_token():
    profile = Machine().profile()
    profile.measure()
    plain_s = 0.004 * 5
    assert profile.of_target.seconds == pytest.approx(
        {n: 0.004 * (4 + n) for n in (1, 2, 3, 4, 8, 16, 32)}
    )
    assert profile.of_draft.seconds == pytest.approx({n: 0.003 * (2 + n) for n in (1, 2, 8, 64)})
    assert profile.of_draft.estimate(1)[0] == pytest.approx(0.009 / plain_s)


def test_a_machine_that_changes_its_pace_shows_the_same_ratios():
    """From second to second it takes up to three times as long, as beside other programs."""
    machine: Machine = Machine(pace=lambda: 2 + np.sin(machine.now * 6))
    profile = machine.profile()
    profile.measure()
    for n in (2, 3, 4, 8):
        assert profile.of_target.estimate(n)[0] == pytest.approx((4 + n) / 5, rel=0.08)


def test_ratios_with_fewer_threads_count_only_where_nothing_else_is_known():
    """With one thread instead of two, a wider batch costs more beside one token."""
    has_all = False
    machine = Machine(lambda width: 0.004 * (4 + width) if has_all else 0.004 * (1 + width))
    machine.target.has_all_cores = False
    profile = machine.profile(typical=({2: 1.2, 4: 1.6, 8: 2.4}, {}))
    profile.measure()
    assert not {2, 4, 8} & {*machine.target.widths}  # nothing is evaluated in vain
    assert profile.of_draft.ratios.keys() == {1}  # of which nothing was known
    assert profile.refine()
    assert not profile.sample(())
    assert not profile.sample([Evaluation(profile.of_target, n) for n in (2, 3)])
    assert profile.of_target.ratios.keys() == {1, 3}
    has_all = machine.target.has_all_cores = True
    profile.measure()
    assert profile.of_target.estimate(2)[0] == pytest.approx(1.2, rel=0.01)
    assert len(profile.of_target.ratios[8]) > 1


def test_samples_of_a_busy_machine_do_not_spoil_those_of_a_calm_one():
    """Beside other programs each evaluation waits for as long, whatever its width."""
    machine, waits_s = Machine(), 0.0
    machine.target = machine._model(lambda width, depth: 0.004 * (4 + width) + waits_s)
    profile = machine.profile()
    profile.measure()
    calm, waits_s = dict(profile.of_target.ratios), 0.2
    for _ in range(LIMIT // 4):
        assert profile.refine()
    assert profile.of_target.ratios == calm
    profile.sample([Evaluation(profile.of_target, 5)])
    assert 5 in profile.of_target.ratios, "a first sample is better than none"


def test_where_the_machine_is_too_noisy_what_is_typical_decides():
    def error(seed, typical):
        profile = Machine(pace=noisy(seed)).profile((typical, {}))
        profile.measure()
        return median(
            abs(np.log(profile.of_target.estimate(n)[0] * 5 / (4 + n))) for n in (2, 3, 4, 8)
        )

    typical = {2: 1.2, 3: 1.4, 4: 1.6, 8: 2.4}
    alone, helped = (sum(error(seed, each) for seed in range(20)) for each in ({}, typical))
    assert helped < 0.5 * alone


@pytest.mark.parametrize("deviation", [0.06, 0.2, 0.5])
def test_the_stated_error_of_an_estimate_is_its_actual_error(deviation):
    """On busy machines as well: two samples alone would not know how far apart they may be."""
    errors = []
    for seed in range(60):
        profile = Machine(pace=noisy(seed, deviation)).profile()
        profile.measure()
        for n in (2, 3, 4, 8):
            ratio, stated = profile.of_target.estimate(n)
            errors.append(abs(np.log(ratio * 5 / (4 + n))) / stated)
    assert 0.5 < np.median(errors) < 1.0  # 0.67 of a normal law


def test_at_rest_what_is_typical_elsewhere_hardly_counts_and_at_last_there_are_enough_samples():
    profile = Machine().profile(({2: 1.7, 3: 2.4, 4: 2.6, 8: 5.4}, {1: 0.9}))
    profile.measure()
    assert profile.of_target.estimate(2)[0] == pytest.approx(6 / 5, rel=0.03)
    assert profile.of_target.estimate(8)[0] == pytest.approx(12 / 5, rel=0.06)
    before, count = profile.of_target.estimate(2)[1], 1
    while not profile.refine():
        count += 1
    assert count < 7 * LIMIT
    assert profile.of_target.estimate(2)[1] < min(before, SETTLED)
    assert profile.of_draft.estimate(1)[1] < SETTLED


def test_a_machine_that_never_rests_is_measured_often_enough():
    """It is left alone whenever a sample does not count, and sampled when it is idle again."""
    profile = Machine(pace=noisy()).profile()
    profile.measure()
    assert 0 < sum(profile.refine() for _ in range(10 * LIMIT)) < 6 * LIMIT
    assert profile.is_clear


def test_the_cached_tokens_are_the_same_after_a_measurement():
    machine = Machine()
    models = machine.target, machine.draft
    for model in models:
        model.logits([1, 2, 3])
    profile = machine.profile()
    profile.measure()
    profile.refine()
    assert [[*model.cached_tokens] for model in models] == [[1, 2, 3]] * 2


def test_after_a_long_text_nothing_is_measured():
    machine = Machine()
    machine.target.logits([1] * 2000)
    before = len(machine.target.widths)
    assert machine.profile().refine()
    assert len(machine.target.widths) == before


@pytest.mark.parametrize(("typical", "widths"), [({}, {SHALLOW, 1, 4}), ({4: 1.7}, {SHALLOW, 1})])
def test_of_a_huge_target_no_more_is_timed_than_is_needed_and_its_draft_in_any_case(
    typical, widths
):
    machine = Machine(kernel=lambda width: 2.0 + width)
    machine.profile((typical, {}), draft=False).measure()
    assert {*machine.target.widths} == widths
    profile = machine.profile((typical, {1: 0.3, 2: 0.4}))
    profile.measure()
    assert profile.of_draft.plain_s
    assert {1, 2} <= {*profile.seconds[1]}


def test_no_measurement_begins_after_the_time_limit():
    machine = Machine(kernel=lambda width: 0.05 * width)
    machine.profile().measure()
    assert machine.now < MEASURING_S + SHALLOW * 0.05 + 32 * 0.05 + 0.1


def test_with_typical_costs_an_answer_waits_for_one_token_of_the_target():
    machine, typical = Machine(), ({4: 1.7, 8: 3.0}, {1: 0.3, 2: 0.4})
    profile = machine.profile(typical)
    profile.draft = None
    profile.prepare(in_full=False)
    assert machine.target.widths == [SHALLOW, 1]
    assert profile.costs.verify(4) == pytest.approx(1.7 * 0.02)
    assert profile.costs.draft(1) == pytest.approx(0.3 * 0.02)
    profile.prepare(in_full=False)
    assert machine.target.widths == [SHALLOW, 1]
    profile.add_draft(machine.draft)
    while not profile.refine():
        pass
    assert profile.costs.verify(4) == pytest.approx(0.032, rel=0.01)
    assert profile.costs.draft(1) == pytest.approx(0.009, rel=0.01)


@pytest.mark.parametrize(("rollback", "widths"), [(2, {2, 3}), (6, {2, 3, 4, 7}), (1, {2})])
def test_a_target_is_timed_as_wide_as_it_can_roll_back(rollback, widths):
    machine = Machine()
    machine.target.rollback = rollback
    profile = machine.profile()
    profile.measure()
    assert {*profile.of_target.ratios} == {1, *widths}


@pytest.mark.parametrize("n_ctx", [20, 48, 200])
def test_a_small_context_is_never_exceeded(n_ctx):
    profile = Machine(n_ctx=n_ctx).profile()
    profile.measure()
    assert {1, 4} <= {*profile.of_target.seconds}


def test_neighbouring_tokens_differ_as_a_mixture_of_experts_would_notice():
    assert len(set(probe_text(64, 151_936))) == 64
    assert max(probe_text(1000, 7)) == 6


@pytest.mark.parametrize("what", ["measure", "refine"])
def test_a_cancel_is_obeyed_at_once(what):
    machine = Machine()
    machine.target.stop_after = 3
    with pytest.raises(Cancelled):
        getattr(machine.profile(), what)()
    assert len(machine.target.widths) == 4


def test_only_the_newest_samples_count():
    profile = ModelProfile()
    for number in range(2 * LIMIT):
        profile.add(2, 1.0 + number, 1.0)
    assert profile.ratios[2] == [1.0 + number for number in range(LIMIT, 2 * LIMIT)]
