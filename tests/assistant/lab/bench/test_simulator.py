"""The simulator does what decoding does, and takes the time that the machine's curve says."""

import json
from dataclasses import replace

import pytest

from assistant.decoding.lookahead.policy import Control
from assistant.decoding.warp import margin
from assistant.engine.weights_pool import Pool
from assistant.lab.bench.events import Judged, Profile
from assistant.lab.bench.prediction_report import predictions
from assistant.lab.bench.run_answers import RunAnswer
from assistant.lab.bench.simulator import PRESETS, Machine, Simulator, machine
from assistant.lab.bench.source_profile import profile as profiled
from assistant.lab.bench.systems import parse
from assistant.lab.bench.trial_runner import TrialRunner
from assistant.lab.protocol import Lockstep, Trial
from assistant.request import USUAL_SOURCES, Message, Request, Sampling, Setup
from models.errors import UsageError
from tests import tiny

SYSTEMS = parse("ars,model=3,suffix=7,suffix+model=4,bigram=2,sps=6")
QUESTIONS = ("Write: abc abc abd abc", "storm gale storm rain")
FLAT = Machine({1: 1.0, 32: 1.0}, {1: 0.1, 512: 0.1})


def profile(tokens, start, *overlaps):
    judged = Judged(tuple(overlaps), tuple(9 for _ in overlaps))
    return Profile(tuple(tokens), start, {"model": judged})


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Real answers of a pair that agrees now and then, by question and system."""
    folder = tmp_path_factory.mktemp("simulated")
    target = tiny.write(folder / "target.gguf", seed=3, stops=False)
    draft = tiny.write(folder / "draft.gguf", seed=4, like=3, noise=0.35, stops=False)
    # A penalty keeps a random model from saying the same thing forever.
    sampling = Sampling(0, repeat_penalty=4.0, repeat_window=24)
    stand = TrialRunner(Pool(), Control(), lambda event: None)
    found = {}
    for text in QUESTIONS:
        trials = []
        for system in SYSTEMS:
            request = Request(
                (Message("user", text),),
                sampling,
                system.mode,
                system.lookahead,
                90,
                sources=system.sources or USUAL_SOURCES,
            )
            profiled = ("model", "bigram") if system.mode == "ars" else ()
            setup = Setup(target, draft, 1024, threads=1)
            trials.append(Trial(setup, system.name, request, profiled))
        compared = stand.measure(Lockstep(tuple(trials)))
        found |= {
            (text, each.name): came for each, came in zip(SYSTEMS, compared.found, strict=True)
        }
    stand.close()
    return found


@pytest.mark.parametrize("system", SYSTEMS[1:-1], ids=lambda system: system.name)
def test_greedy_replay_has_the_same_rounds_of_the_real_answer(measured, system):
    simulator = Simulator(system, FLAT, USUAL_SOURCES)
    for text in QUESTIONS:
        stats = measured[text, system.name].stats
        replayed = simulator.replay(measured[text, "ars"].profile)
        assert (replayed.generated_tokens, replayed.rounds) == (
            stats.generated_tokens,
            stats.rounds,
        )
        assert (replayed.tested, replayed.accepted) == (stats.tested, stats.accepted)


def test_tail_of_the_models_wrong_draft_is_all_that_the_replay_lacks(measured):
    simulator = Simulator(SYSTEMS[-1], FLAT, USUAL_SOURCES)
    for text in QUESTIONS:
        rounds = simulator.replay(measured[text, "ars"].profile).rounds
        assert 1 <= rounds / measured[text, "sps=6"].stats.rounds < 1.15


def test_some_proposals_were_rejected_so_that_the_test_above_says_something(measured):
    for name in ("model=3", "suffix+model=4"):
        stats = [measured[text, name].stats for text in QUESTIONS]
        assert 0 < sum(each.accepted for each in stats) < sum(each.tested for each in stats)


def test_time_of_a_fixed_lookahead_is_what_one_adds_up():
    costs = Machine({1: 1.0, 2: 1.5, 3: 2.0, 4: 2.5}, {1: 0.25, 2: 0.375, 4: 0.5}, 0.125)
    always = profile(range(100, 112), 3, *[1.0] * 9)
    replayed = Simulator(parse("model=3")[1], costs, ()).replay(always)
    first = 1.0 + 0.125  # ArS
    second = 0.5 + 2 * 0.25 + 2.5 + 0.125  # the draft reads the prompt and what came, 4 tokens
    third = 0.375 + 2 * 0.25 + 2.5 + 0.125  # and its own last token, and the one after it
    assert (replayed.generated_tokens, replayed.rounds, replayed.accepted) == (9, 3, 6)
    assert replayed.decode_s == pytest.approx(first + second + third)


def test_nothing_that_is_accepted_takes_ars_and_the_waste():
    never = profile(range(100, 112), 3, *[0.0] * 9)
    replayed = Simulator(parse("model=1")[1], FLAT, ()).replay(never)
    # Neither the first token nor the last one is proposed.
    assert (replayed.rounds, replayed.accepted, replayed.tested) == (9, 0, 7)
    assert replayed.decode_s == pytest.approx(9 * 1.0 + 7 * 0.1)


def test_auto_leaves_what_never_pays_and_takes_what_does():
    often = [1.0 if i % 5 else 0.0 for i in range(400)]
    answer = profile(range(1000, 1410), 10, *often)
    (auto,) = parse("auto")[1:]

    def speed(costs):
        replayed = Simulator(auto, costs, ("model",)).replay(answer)
        return replayed.tokens_per_s * costs.verify[1]

    steep = Machine({n: float(n) for n in range(1, 33)}, {1: 0.5, 512: 50.0})
    assert speed(steep) > 0.95
    assert speed(FLAT) > 2


def test_auto_reads_with_the_model_where_the_target_is_sure_and_has_not_to_try_it():
    """A machine where speculation pays well if most is accepted, and reading is dear."""
    reading = {1: 0.2, 2: 0.3, 16: 1.4, 64: 5.0, 512: 50.0}
    costs = Machine({1: 1.0, 4: 2.5, 32: 16.0}, reading)
    (auto,) = parse("auto")[1:]

    def tested(margin):
        answer = profile(range(1000, 1364), 64, *[0.95] * 300)
        answer = replace(answer, margins=(margin,) * 300)
        return Simulator(auto, costs, ("model",)).replay(answer).tested

    assert tested(0) == 0
    assert tested(9) > 10


def test_profile_tells_how_sure_the_target_was_at_each_place(open_model, tmp_path, monkeypatch):
    # Random models are very sure of everything.
    monkeypatch.setattr("assistant.decoding.warp.EDGES", tuple(range(0, 90, 10)))
    target = open_model(tiny.write(tmp_path / "target.gguf", seed=3, stops=False))
    prompt, answer = [1, 2, 3], [*range(50, 90)]
    cold = profiled(target, [], prompt, answer, Sampling(0), Control())
    alone = [margin(target.logits([*prompt, *answer[:i]])[0]) for i in range(len(answer))]
    # A gap at the edge of two classes may be rounded to the other one.
    assert sum(a != b for a, b in zip(alone, cold.margins, strict=True)) <= 2
    assert len(set(alone)) > 2


def test_ratios_do_not_depend_on_how_fast_the_machine_is():
    answer = profile(range(1000, 1110), 10, *[0.7] * 100)
    (model,) = parse("model=4")[1:]
    slow = PRESETS["2-core-q4"]
    one, other = (
        Simulator(model, costs, ()).replay(answer).decode_s for costs in (slow, slow.scaled(7))
    )
    assert other == pytest.approx(7 * one)


def test_acceptance_at_a_temperature_is_that_of_the_overlaps():
    """Ten answers of 300 places of overlap 0.7 under K=1: accepted within 0.7 +- 0.055.

    Of some 1,770 tests the standard deviation is 0.011; beyond 5 of them lies less than one in a
    million.
    """
    answer = profile(range(300), 0, *[0.7] * 300)
    simulator = Simulator(parse("model=1")[1], FLAT, ())
    replayed = [simulator.replay(answer) for _ in range(10)]
    accepted = sum(each.accepted for each in replayed)
    assert accepted / sum(each.tested for each in replayed) == pytest.approx(0.7, abs=0.055)


def test_prediction_is_relative_to_ars_on_the_machine_at_hand(measured):
    answers = [RunAnswer(t, "code", 0, "ars", measured[t, "ars"]) for t in QUESTIONS]
    found = predictions(answers, SYSTEMS, machine=FLAT)
    assert set(found) == {(kind, s.name) for kind in ("code", "all") for s in SYSTEMS[1:]}
    assert found["all", "suffix=7"] == pytest.approx(
        predictions(answers, SYSTEMS, machine=FLAT.scaled(3))["all", "suffix=7"]
    )
    assert predictions(answers, SYSTEMS)["all", "model=3"] > 0
    assert predictions([], SYSTEMS) == {}


def test_machine_of_a_file_is_read_and_what_is_none_refused(tmp_path):
    path = tmp_path / "laptop.json"
    path.write_text(json.dumps({"verify": {"1": 0.02, "8": 0.03}, "draft": {"1": 0.004}}))
    assert machine(str(path)) == Machine({1: 0.02, 8: 0.03}, {1: 0.004})
    assert machine("flat-gpu") is PRESETS["flat-gpu"]
    for content in ("", "[]", "{}", '{"verify": {"2": 1}}', '{"verify": {"1": -1}}',
                    '{"verify": {"x": 1}}', '{"verify": {"1": 1}, "host_s": -1}'):  # fmt: skip
        path.write_text(content)
        with pytest.raises(UsageError, match="verify"):
            machine(str(path))
