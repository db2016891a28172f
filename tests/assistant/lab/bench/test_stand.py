"""Systems that are measured in lockstep: each answers as if alone, and none runs ahead."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise, takewhile
from statistics import geometric_mean
from typing import Any

import pytest

from assistant.engine.control import Control
from assistant.engine.engine import EngineState
from assistant.engine.race import take_turns
from assistant.events import Decoded, Finished, LaneEvent, Stats
from assistant.lab.bench import trial_runner as module
from assistant.lab.bench.answers import Compared, Measured, Totals
from assistant.lab.bench.trial_runner import STRIDE, TrialRunner
from assistant.lab.protocol import LAB, Lockstep, Trial
from assistant.request import EngineArgs, Message, Mode, Request, Sampling
from models.errors import ModelError
from tests.assistant.process.event_log import running
from tests.engine import needs_both

WAYS: dict[str, tuple[Mode, int | None]] = {
    "ars": ("ars", None),
    "model=3": ("sps", 3),
    "auto": ("auto", None),
}
LENGTH = 60


@pytest.fixture
def trials(tiny_target, tiny_draft) -> tuple[Trial, ...]:
    setup = EngineArgs(tiny_target, tiny_draft, n_ctx=512, threads=1)
    request = Request((Message("user", "Who?"),), Sampling(30), max_tokens=LENGTH, seed=1)
    return tuple(
        Trial(setup, name, replace(request, mode=mode, lookahead=k))
        for name, (mode, k) in WAYS.items()
    )


@pytest.fixture
def stand():
    made = TrialRunner(EngineState(Control(), lambda event: None, lambda: False))
    yield made
    made.close()


def test_each_answers_in_lockstep_as_it_does_alone(trials, stand):
    together = stand.measure(Lockstep(trials)).outcomes
    for trial, ours in zip(trials[:2], together, strict=False):  # auto decides by the clock
        (alone,) = stand.measure(Lockstep((trial,))).outcomes
        assert alone.text == ours.text
        assert alone.stats.lookahead_counts == ours.stats.lookahead_counts
        assert alone.stats.accepted == ours.stats.accepted
    for ours in together:
        assert ours.stats.generated_tokens == LENGTH
        counts, seconds = zip(*ours.pace.items(), strict=True)
        assert (counts[-1], seconds[-1]) == (LENGTH, pytest.approx(ours.stats.decode_s))
        assert all(a < b for a, b in pairwise(counts))
        assert all(a < b for a, b in pairwise(seconds))
        assert len(ours.pace) == ours.stats.rounds
        assert (ours.steps_s > 0) == (ours.stats.drafted > 0)
        assert ours.steps_s <= ours.stats.draft_s + 1e-9


def lengths(steps: Iterable[Any], lanes: int) -> list[int]:
    """Return how many tokens each lane has; none was ever a stride and a round ahead of another."""
    counts, longest = [0] * lanes, 0
    for step in steps:
        if isinstance(step.event, Decoded):
            count = step.event.stats.generated_tokens
            longest = max(longest, count - counts[step.lane])
            counts[step.lane] = count
            assert max(counts) - min(counts) < STRIDE + longest
    return counts


def test_none_is_a_stride_and_a_round_ahead_of_another(trials, stand, monkeypatch):
    steps = []

    def watched(*arguments):
        for step in take_turns(*arguments):
            steps.append(step)
            yield step

    monkeypatch.setattr(module, "take_turns", watched)
    stand.measure(Lockstep(trials))
    assert lengths(steps, len(trials)) == [LENGTH] * len(trials)


def test_systems_share_weights_but_nothing_that_they_learn_or_hold(trials, stand):
    stand.measure(Lockstep((trials[2], replace(trials[2], system="other"), trials[0])))
    pairs, own = [pair for pair, _ in stand._assistants.values()], [*stand._controllers.values()]
    assert len(pairs) == len(own) == 3
    for kind in ("target", "draft", "vocab"):
        objects = [getattr(pair, kind) for pair in pairs]
        assert len({id(each) for each in objects}) == (1 if kind == "vocab" else 3)
    assert len({id(pair.target.weights) for pair in pairs}) == 1
    sources = [source for pair in pairs for source in pair.sources.values()]
    assert len({id(source) for source in sources}) == len(sources)
    for objects in ([each.costs for each in own], [each._acceptance for each in own]):
        assert len({id(each) for each in objects}) == 3


@needs_both
def test_a_system_with_another_engine_answers_in_a_process_of_its_own_trial_after_trial(trials):
    ours = replace(trials[0], setup=replace(trials[0].setup, engine="llama"))
    other = replace(trials[1], setup=replace(trials[1].setup, engine="ik"))
    pids = set()
    with running(protocol=LAB) as (engine, received):
        for _ in range(2):
            engine.submit(Lockstep((ours, other)))
            outcomes = received.until(Compared).outcomes
            here, there = (each for each in outcomes if isinstance(each, Measured))
            assert (here.stats.engine, there.stats.engine) == ("llama", "ik")
            assert there.text == here.text
            assert len(there.pace) == there.stats.rounds < here.stats.rounds
            pids.add((engine.pid, engine.process._others["ik"].pid))
        first = takewhile(lambda lap: not isinstance(lap.event, Finished), received.of(LaneEvent))
        assert min(lengths(first, 2)) > 0
    assert len(pids) == 1


def test_sps_without_anything_that_proposes_is_an_error(trials, stand, tiny_target):
    setup = replace(trials[1].setup, draft=None)
    request = replace(trials[1].request, sources=("model",))
    with pytest.raises(ModelError, match="SpS needs a draft"):
        stand.measure(Lockstep((replace(trials[1], setup=setup, request=request),)))


class Mood:
    """A machine on which a second of work takes one, or three while somebody else is at it."""

    def __init__(self, period: float) -> None:
        self.now, self._period = 0.0, period

    def work(self, seconds: float) -> float:
        took = seconds * (3 if self.now // self._period % 2 else 1)
        self.now += took
        return took


class Worker:
    """What `laps` needs of a runner, with tokens that take as long as a machine takes for them."""

    def __init__(self, number: int, machine: Mood, round_tokens: int, round_s: float) -> None:
        self.number, self.tokens, self.is_over = number, 0, False
        self.pace: list[tuple[int, float]] = []
        self.round = round_tokens
        self._machine, self._round_s = machine, round_s
        self._clock = 0.0

    def clock(self) -> float:
        return self._clock

    def step(self) -> None:
        self._clock += self._machine.work(self._round_s)
        self.tokens += self.round
        self.pace.append((self.tokens, self._clock))
        self.is_over = self.tokens >= 128


def seen(in_lockstep: bool, period: float) -> float:
    """Return how much faster a system that is 3 % faster looks after 14 questions."""
    machine: Any = Mood(period)
    ratios = []
    systems = [(1, 0.050), (4, 0.200 / 1.03)]
    for order in (systems, systems[::-1]) * 7:
        runners: list[Any] = [Worker(i, machine, *each) for i, each in enumerate(order)]
        for together in [runners] if in_lockstep else [[each] for each in runners]:
            [*take_turns(together, module._strides)]
        ars, sps = (measured(*each.pace) for each in sorted(runners, key=lambda each: each.round))
        ratios.append(sps.speedup(ars))
    return geometric_mean(ratios)


@pytest.mark.parametrize("period", [7.3, 11.9, 31.0])
def test_three_per_cent_are_seen_on_a_machine_that_is_three_times_as_slow_at_times(period):
    assert seen(True, period) == pytest.approx(1.03, abs=0.02)
    assert abs(seen(False, period) - 1.03) > 0.02  # one answer after the other


def measured(*pace: tuple[int, float]) -> Totals:
    stats = Stats("ars", generated_tokens=pace[-1][0], decode_s=pace[-1][1])
    return Totals((Measured("", "", stats, pace=dict(pace)),))


def test_answers_are_compared_up_to_the_last_token_that_both_have():
    short = measured((4, 1.0), (8, 2.0))
    long = measured((1, 0.5), (2, 1.0), (8, 4.0), (9, 99.0))
    assert short.speedup(long) == pytest.approx(4.0 / 2.0)
    assert long.speedup(short) == pytest.approx(2.0 / 4.0)
    assert measured((4, 1.0), (8, 3.0)).answers[0].seconds_to(6) == pytest.approx(2.0)


@needs_both
def test_an_answer_begins_as_after_loading_whatever_was_answered_before(trials, stand):
    """The models hold what every conversation begins with, and nothing of the last prompt."""
    cached = [
        compared.outcomes[0].stats.cached_tokens
        for compared in (stand.measure(Lockstep((trials[2],))) for _ in range(2))
    ]
    assert cached[0] == cached[1] > 0
