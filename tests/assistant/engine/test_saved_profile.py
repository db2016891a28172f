"""The profile is saved in one private file, and survives damage to it."""

import json
import os
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assistant.decoding.lookahead.acceptance import Acceptance
from assistant.decoding.loops import Round, Sampled
from assistant.decoding.sources.draft import Run
from assistant.engine.model_profile import FURTHEST
from assistant.engine.profile import PROFILES, Profile, profile_of
from assistant.events import Origin
from models.errors import Cancelled
from models.files import disk
from models.files.disk import Records
from models.native import loaded
from tests.assistant.decoding.lookahead.machines import coin
from tests.assistant.engine.simulated_model import SimulatedModel, prepared


def model(conditions="this", noise=lambda: 0.0):
    kernel = lambda width, depth: 0.01 * (3 + width) + noise()  # noqa: E731
    return SimulatedModel(kernel, conditions=conditions)


def evaluations(folder, conditions="this", draft=None, noise=lambda: 0.0):
    target = model(conditions, noise)
    models = [target, draft] if draft else [target]
    costs = prepared(target, draft, folder, clock=lambda: sum(each.now for each in models)).costs
    assert costs.verify(1) > 0
    return len(target.widths)


def remember(target, draft, folder, verify, prefill):
    """Keep seconds as if they had been measured."""
    plain_s = verify[1]
    profile = Profile(target, draft.conditions if draft else None, folder)
    for model_profile, seconds in ((profile.of_target, verify), (profile.of_draft, prefill)):
        model_profile.plain_s = [plain_s] * 4
        model_profile.ratios = {n: [took / plain_s] * 4 for n, took in seconds.items()}
    profile.put()


def test_the_first_load_under_some_conditions_measures_and_the_others_nothing(tmp_path):
    for conditions in ("this", "that"):
        assert evaluations(tmp_path, conditions) > 0
        assert evaluations(tmp_path, "this") == 0


def test_samples_of_a_busy_machine_are_measured_again_by_the_next_load(tmp_path):
    uneven = cycle([0.0, 0.3, 0.1, 0.9, 0.0, 0.5])
    assert evaluations(tmp_path, noise=lambda: next(uneven)) > 0
    assert evaluations(tmp_path) > 0
    while evaluations(tmp_path):
        pass


def test_another_draft_leaves_what_is_known_of_the_target(tmp_path):
    evaluations(tmp_path, draft=model("one draft"))
    before = json.loads((tmp_path / PROFILES).read_text())["verify | this"]
    evaluations(tmp_path, draft=(other := model("another draft")))
    after = json.loads((tmp_path / PROFILES).read_text())["verify | this"]
    assert after["ratios"]["2"] == before["ratios"]["2"]
    assert other.widths


def test_without_a_draft_its_steps_cost_infinity(tmp_path):
    costs = prepared(model(), None, tmp_path).costs
    assert 0 < costs.verify(7) < costs.draft(1)


def test_times_of_rounds_on_a_busy_machine_do_not_outlive_the_load(tmp_path):
    measured = {1: 1.0, 2: 1.5, 3: 1.75, 4: 2.0, 8: 4.0}
    remember(model(), model("draft"), tmp_path, measured, measured)
    costs = prepared(model(), model("draft"), tmp_path).costs
    for _ in range(100):
        costs.verify.observe(8, 20.0)
        costs.draft.observe(1, 5.0)
    costs = prepared(model(), model("draft"), tmp_path).costs
    assert {n: costs.verify(n) for n in measured} == measured
    assert costs.draft(1) == measured[1]


def foreign(text, plain, ratios):
    return json.dumps({key: {"plain_s": plain, "ratios": ratios} for key in json.loads(text)})


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[1, 2]",
        lambda text: "[" * 100_000,
        lambda text: "\0" + text,
        lambda text: text.replace('"plain_s"', '"plane_s"'),
        lambda text: text.replace('"1":', '"one":'),
        lambda text: text.replace('"1":', '"-1":'),
        lambda text: foreign(text, [], {"1": [1.0]}),
        lambda text: foreign(text, [1.0], {}),
        lambda text: foreign(text, [1.0], {"7": [1.0]}),
        lambda text: foreign(text, [0.0], {"1": [1.0]}),
        lambda text: foreign(text, [1.0], {"1": [1.0], "2": []}),
        lambda text: foreign(text, [1.0], {"1": [1.0], "2": [-1.0]}),
    ],
)
def test_a_damaged_or_foreign_file_is_measured_again_and_fixed(tmp_path, damage):
    evaluations(tmp_path)
    (file,) = tmp_path.glob("*.json")
    file.write_text(damage(file.read_text()))
    assert evaluations(tmp_path) > 0
    evaluations(tmp_path)
    assert evaluations(tmp_path) == 0


def test_a_file_that_cannot_be_written_or_is_a_pipe_costs_a_measurement_and_no_waiting(tmp_path):
    (tmp_path / "file").write_text("in the way")
    os.mkfifo(tmp_path / PROFILES)
    for folder in (tmp_path / "file", tmp_path):
        assert evaluations(folder) > 0


def test_records_are_bounded_and_the_oldest_make_room(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "MAX_RECORDS", 3)
    notes = Records(tmp_path, "notes.json", int)
    for number in (1, 2, 3, 1, 4):
        notes.put(f"note {number}", number)
    assert [notes.get(f"note {number}") for number in (1, 2, 3, 4)] == [1, None, 3, 4]


def test_a_cancelled_measurement_saves_nothing(tmp_path):
    target = model()
    target.stop_after = 3
    with pytest.raises(Cancelled):
        prepared(target, None, tmp_path)
    assert not list(tmp_path.iterdir())


def test_more_samples_correct_the_costs_at_once_and_are_saved(tmp_path):
    target = SimulatedModel(lambda width, depth: 0.01 * width)
    remember(target, None, tmp_path, {1: 0.01, 2: 0.011, 3: 0.03, 4: 0.04, 8: 0.08}, {})
    profile = prepared(target, None, tmp_path, clock=target.clock)
    assert profile.costs.verify(2) == pytest.approx(0.011)
    while not profile.refine():
        pass
    assert profile.costs.verify(2) == pytest.approx(0.02)
    assert prepared(target, None, tmp_path).costs.verify(2) == pytest.approx(0.02)


def test_the_speeds_of_a_prefill_and_of_the_last_answer_are_saved(pair, tmp_path):
    target = model(measured(pair[0]).conditions)
    profile = prepared(target, None, tmp_path, clock=target.clock)
    profile.save()
    assert profile_of(pair[0], "verify", tmp_path).prompt_token_s == 0
    for target.seconds_per_token in (0.02, 0.01):
        profile.save()
        assert profile_of(pair[0], "verify", tmp_path).prompt_token_s == target.seconds_per_token
    assert profile_of(pair[1], "verify", tmp_path).prompt_token_s == 0
    for seconds in (5.0, 3.0):
        for _ in range(9):
            profile.costs.verify.observe(1, seconds)
        profile.save()
        assert profile_of(pair[0], "verify", tmp_path).token_s == pytest.approx(seconds)


def measured(path: Path, settings: str = "threads=2") -> Any:
    """A file that was measured with these settings, as `models.native.model` says it."""
    conditions = f"{loaded.engine().speed_key(path, None)} {settings}"
    return SimpleNamespace(
        conditions=conditions, max_rows=32, rollback=None, seconds_per_token=None
    )


@pytest.fixture
def pair(tmp_path):
    files = tmp_path / "target.gguf", tmp_path / "draft.gguf"
    for number, path in enumerate(files):
        path.write_bytes(b"x" * (number + 1))
    return files


def measure(pair, folder, verify: dict[int, float], step: float, **more: str) -> None:
    target, draft = (measured(path, **more) for path in pair)
    remember(target, draft, folder, verify, {1: step, 8: 3 * step})


def seconds(path, role, folder) -> dict[int, float]:
    """Return what was measured last of a file."""
    profile = profile_of(path, role, folder)
    return profile.seconds if profile.plain_s else {}


def test_of_several_measurements_the_newest_counts(pair, tmp_path):
    measure(pair, tmp_path, {1: 1.0, 2: 2.0}, 0.4)
    measure(pair, tmp_path, {1: 1.0, 2: 1.0}, 0.1, settings="threads=4")
    assert seconds(pair[0], "verify", tmp_path)[2] == 1.0
    assert seconds(pair[1], "draft", tmp_path)[1] == pytest.approx(0.1)


def test_measured_times_are_those_of_an_unchanged_file_in_its_role(pair, tmp_path):
    target, draft = pair
    assert seconds(target, "verify", tmp_path) == {}
    remember(measured(draft), None, tmp_path, {1: 1.0, 2: 1.0}, {1: 1.0})
    assert seconds(draft, "draft", tmp_path) == {}  # as a target, it was
    measure(pair, tmp_path, {1: 1.0, 2: 1.0}, 0.1)
    assert seconds(draft, "draft", tmp_path)
    os.utime(draft, ns=(1, 1))  # another file of that size
    assert seconds(draft, "draft", tmp_path) == {}
    assert seconds(tmp_path / "gone.gguf", "verify", tmp_path) == {}


def observed(odds: float) -> Acceptance:
    """Return the acceptance after one run was on offer that had such odds."""
    acceptance, run = Acceptance(), Run("suffix", (0,), (3,))
    acceptance.observe(Round((Sampled(1, Origin.TARGET, coin(odds)),)), [run])
    return acceptance


@pytest.mark.parametrize("is_loaded", [True, False])
def test_the_acceptance_of_sources_is_saved_of_this_pair_alone(tmp_path, is_loaded):
    """Odds come from rows of numpy, whose numbers the file does not know."""
    evaluations(tmp_path, draft=model("draft"))
    profile = Profile(model(), "draft", tmp_path)
    if is_loaded:
        profile.add_draft(model("draft"))
    profile.acceptance = observed(0.1)
    profile.save()
    assert Profile(model(), "draft", tmp_path).acceptance.lasting == profile.acceptance.lasting
    for other in ("other", None):
        assert not Profile(model(), other, tmp_path).acceptance.lasting
    assert evaluations(tmp_path, draft=model("draft")) == 0  # the samples stay


def test_an_impossible_acceptance_in_the_file_is_not_believed(tmp_path):
    evaluations(tmp_path)
    file = tmp_path / PROFILES
    for odds, expected in ((1.0, {"suffix": 1.0}), (2 * FURTHEST, {})):
        profiles = json.loads(file.read_text())
        profiles["verify | this"]["acceptance"] = {"suffix": odds}
        file.write_text(json.dumps(profiles))
        assert Profile(model(), None, tmp_path).acceptance.lasting == expected
