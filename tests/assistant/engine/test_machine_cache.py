"""What was measured and learnt is remembered, in private files."""

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
from assistant.engine.machine_cache import (
    FURTHEST,
    Learnt,
    kept_looks,
    known_acceptance,
    known_reading,
    put_looks,
    recorded,
    remember_acceptance,
)
from assistant.engine.measurement import CostLooks
from assistant.engine.times import Times
from assistant.events import Origin
from models.errors import Cancelled
from models.files import disk
from models.files.disk import Records
from models.native import loaded
from tests.assistant.decoding.lookahead.machines import coin
from tests.assistant.engine.stopwatched import Stopwatched


def model(conditions="this", **options):
    return Stopwatched(lambda width, depth: 0.01 * (3 + width), conditions=conditions, **options)


def evaluations(folder, conditions="this", draft=None, noise=lambda: 0.0):
    target = model(conditions, noise=noise)
    models = [target, draft] if draft else [target]
    costs = kept_looks(target, draft, folder, clock=lambda: sum(each.now for each in models)).costs
    assert costs.verify(1) > 0
    return len(target.widths)


def remember(target, draft, folder, verify, reading):
    """Keep seconds as if they had been measured."""
    plain_s = verify[1]
    times = [
        Times([plain_s] * 4, {n: [took / plain_s] * 4 for n, took in each.items()})
        for each in (verify, reading)
    ]
    put_looks(CostLooks(target, draft, *times), folder)


def test_the_first_load_measures_and_the_others_nothing(tmp_path):
    assert evaluations(tmp_path) > 0
    assert evaluations(tmp_path) == 0


def test_times_of_a_busy_machine_are_measured_again_by_the_next_load(tmp_path):
    uneven = cycle([0.0, 0.3, 0.1, 0.9, 0.0, 0.5])
    assert evaluations(tmp_path, noise=lambda: next(uneven)) > 0
    assert evaluations(tmp_path) > 0
    while evaluations(tmp_path):
        pass


def test_other_conditions_are_measured_and_the_first_are_not_forgotten(tmp_path):
    evaluations(tmp_path)
    assert evaluations(tmp_path, "that") > 0
    assert evaluations(tmp_path) == 0


def test_another_draft_leaves_what_is_known_of_the_target(tmp_path):
    evaluations(tmp_path, draft=model("one draft"))
    before = json.loads((tmp_path / "costs.json").read_text())["verify | this"]
    evaluations(tmp_path, draft=(other := model("another draft")))
    after = json.loads((tmp_path / "costs.json").read_text())["verify | this"]
    assert after["ratios"]["2"] == before["ratios"]["2"]
    assert other.widths


def test_a_target_alone_has_a_curve(tmp_path):
    costs = kept_looks(model(), None, tmp_path).costs
    assert 0 < costs.verify(7) < costs.draft(1)


def test_a_file_that_verifies_is_not_taken_for_one_that_drafts(tmp_path):
    evaluations(tmp_path)
    draft = model()
    kept_looks(model(), draft, tmp_path)
    assert draft.widths


def test_times_of_rounds_on_a_busy_machine_do_not_outlive_the_load(tmp_path):
    measured = {1: 1.0, 2: 1.5, 3: 1.75, 4: 2.0, 8: 4.0}
    remember(model(), model("draft"), tmp_path, measured, measured)
    costs = kept_looks(model(), model("draft"), tmp_path).costs
    for _ in range(100):
        costs.observe_verify(8, 20.0)
        costs.observe_draft(1, 5.0)
    costs = kept_looks(model(), model("draft"), tmp_path).costs
    assert {n: costs.verify(n) for n in measured} == measured
    assert costs.draft(1) == measured[1]


def foreign(text, plain, ratios):
    return json.dumps({key: {"plain": plain, "ratios": ratios} for key in json.loads(text)})


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[1, 2]",
        lambda text: "[" * 100_000,
        lambda text: "\0" + text,
        lambda text: text.replace('"ratios"', '"rations"'),
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


def test_a_folder_that_cannot_be_written_costs_a_measurement_and_nothing_else(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert evaluations(tmp_path / "file") > 0


def test_a_pipe_instead_of_the_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "costs.json")
    assert evaluations(tmp_path) > 0


def test_records_are_bounded_and_the_oldest_make_room(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "MAX_RECORDS", 3)
    notes = Records(tmp_path, "notes.json", int)
    for number in (1, 2, 3, 1, 4):
        notes.put(f"note {number}", number)
    assert [notes.get(f"note {number}") for number in (1, 2, 3, 4)] == [1, None, 3, 4]


def test_a_cancel_passes_and_leaves_no_trace(tmp_path):
    target = model()
    target.stop_after = 3
    with pytest.raises(Cancelled):
        kept_looks(target, None, tmp_path)
    assert not list(tmp_path.iterdir())


def test_looks_correct_the_costs_at_once_and_are_kept(tmp_path):
    target = Stopwatched(lambda width, depth: 0.01 * width)
    looks = CostLooks(
        target, None, Times([0.01], {1: [1.0], 2: [1.1]}), Times([], {}), target.clock
    )
    learnt = Learnt(looks, (Path(__file__), None), tmp_path)
    assert learnt.costs.verify(2) == pytest.approx(0.011)
    while not learnt.look_again():
        pass
    assert learnt.costs.verify(2) == pytest.approx(0.02)
    assert kept_looks(target, None, tmp_path).costs.verify(2) == pytest.approx(0.02)


def test_how_fast_prompts_are_read_is_kept(pair, tmp_path):
    target = model(measured(pair[0]).conditions)
    learnt = Learnt(
        CostLooks(target, None, Times([0.01], {1: [1.0]}), Times([], {})), pair, tmp_path
    )
    learnt.keep()
    assert known_reading(pair[0], tmp_path) == 0
    for target.seconds_per_token in (0.02, 0.01):
        learnt.keep()
        assert known_reading(pair[0], tmp_path) == target.seconds_per_token
    assert known_reading(pair[1], tmp_path) == 0


ROOT = Path(__file__).parents[4]


def measured(path: Path, settings: str = "threads=2") -> Any:
    """A file that was measured with these settings, as `models.native.model` says it."""
    conditions = f"{loaded.engine().speed_key(path, None)} {settings}"
    return SimpleNamespace(conditions=conditions, max_rows=32, rollback=None)


@pytest.fixture
def pair(tmp_path):
    files = tmp_path / "target.gguf", tmp_path / "draft.gguf"
    for number, path in enumerate(files):
        path.write_bytes(b"x" * (number + 1))
    return files


def measure(pair, folder, verify: dict[int, float], step: float, **more: str) -> None:
    target, draft = (measured(path, **more) for path in pair)
    remember(target, draft, folder, verify, {1: step, 8: 3 * step})


def test_of_several_measurements_the_newest_counts(pair, tmp_path):
    measure(pair, tmp_path, {1: 1.0, 2: 2.0}, 0.4)
    measure(pair, tmp_path, {1: 1.0, 2: 1.0}, 0.1, settings="threads=4")
    assert recorded(pair[0], "verify", tmp_path).seconds[2] == 1.0
    assert recorded(pair[1], "draft", tmp_path).seconds[1] == pytest.approx(0.1)


def test_measured_times_are_those_of_an_unchanged_file_in_its_role(pair, tmp_path):
    target, draft = pair
    assert recorded(target, "verify", tmp_path) is None
    remember(measured(draft), None, tmp_path, {1: 1.0, 2: 1.0}, {1: 1.0})
    assert recorded(draft, "draft", tmp_path) is None  # as a target, it was
    measure(pair, tmp_path, {1: 1.0, 2: 1.0}, 0.1)
    assert recorded(draft, "draft", tmp_path)
    os.utime(draft, ns=(1, 1))  # another file of that size
    assert recorded(draft, "draft", tmp_path) is None
    assert recorded(tmp_path / "gone.gguf", "verify", tmp_path) is None


SHOWN = {"model": -1.5, "suffix": 0.25}


def test_learnt_acceptance_is_remembered_of_this_pair_alone(pair, tmp_path):
    remember_acceptance(SHOWN, *pair, tmp_path)
    assert known_acceptance(*pair, tmp_path) == SHOWN
    assert known_acceptance(pair[0], None, tmp_path) == {}
    assert known_acceptance(*reversed(pair), tmp_path) == {}


def test_a_file_name_need_not_be_utf_8(tmp_path):
    target = tmp_path / os.fsdecode(b"\xff\xfe.gguf")
    target.touch()
    remember_acceptance(SHOWN, target, None, tmp_path)
    assert known_acceptance(target, None, tmp_path) == SHOWN


def test_an_impossible_acceptance_in_the_file_is_not_believed(pair, tmp_path):
    remember_acceptance({"model": 2 * FURTHEST, "suffix": 1.0}, *pair, tmp_path)
    assert known_acceptance(*pair, tmp_path) == {"suffix": 1.0}


def test_acceptance_learnt_from_numpy_rows_can_be_saved(pair, tmp_path):
    """Odds come from rows of numpy, whose numbers the file does not know."""
    acceptance, run = Acceptance(), Run("suffix", (0,), (3,))
    acceptance.observe(Round((Sampled(1, Origin.TARGET, coin(0.1)),)), [run])
    remember_acceptance(acceptance.lasting, *pair, tmp_path)
    assert known_acceptance(*pair, tmp_path) == acceptance.lasting
