"""What was measured is remembered: per file, library, machine and settings, in a private file."""

import json
import stat

import pytest

from assistant.decoding.lookahead import machine_cache
from assistant.decoding.lookahead.cost_measurement import LOOKS_NEEDED, Times
from assistant.decoding.lookahead.machine_cache import Records, cached_or_measured, remember_times
from models.errors import Cancelled
from tests.assistant.engine.stopwatched import Stopwatched


class OthersAreIdle:
    is_heavy = False


class OthersAreBusy:
    is_heavy = True


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(machine_cache, "OtherLoad", OthersAreIdle)


def model(conditions="this", **options):
    return Stopwatched(lambda width, depth: 0.0, conditions=conditions, **options)


def evaluations(folder, conditions="this", draft=None):
    target = model(conditions)
    costs = cached_or_measured(target, draft, folder)
    assert costs.verify(1) > 0
    return len(target.widths)


def believed(folder, **more):
    """Load until the times are believed."""
    for _ in range(LOOKS_NEEDED):
        evaluations(folder, **more)


def test_the_first_loads_measure_and_the_others_nothing(tmp_path):
    assert evaluations(tmp_path) > 0
    assert evaluations(tmp_path) > 0
    evaluations(tmp_path)
    assert evaluations(tmp_path) == 0


def test_a_load_in_a_bad_moment_is_mended_by_the_next(tmp_path, monkeypatch):
    looks = iter(
        (
            Times({1: 0.10, 2: 0.19, 4: 0.20, 8: 0.60}, looks=1),
            Times({1: 0.08, 2: 0.13, 4: 0.15, 8: 0.30, 16: 0.40}, looks=1),
            Times({1: 0.08, 2: 0.13, 4: 0.15, 8: 0.30, 16: 0.40}, looks=1),
        )
    )
    monkeypatch.setattr(machine_cache, "time_target", lambda model: next(looks))
    costs = [cached_or_measured(model(), None, tmp_path) for _ in range(5)]
    assert costs[0].verify(8) == 0.6
    for later in costs[1:]:
        assert later.verify(8) / later.verify(1) == pytest.approx(3.75, rel=0.15)
        assert later.verify(16) / later.verify(1) == pytest.approx(5, rel=0.15)


def test_other_conditions_are_measured_and_the_first_are_not_forgotten(tmp_path):
    believed(tmp_path)
    assert evaluations(tmp_path, "that") > 0
    assert evaluations(tmp_path) == 0


def test_another_draft_leaves_what_is_known_of_the_target(tmp_path):
    believed(tmp_path, draft=model("one draft"))
    assert evaluations(tmp_path, draft=(other := model("another draft"))) == 0
    assert other.widths


def test_a_target_alone_has_a_curve(tmp_path):
    costs = cached_or_measured(model(), None, tmp_path)
    assert 0 < costs.verify(7) < costs.draft(1)


def test_a_file_that_verifies_is_not_taken_for_one_that_drafts(tmp_path):
    evaluations(tmp_path)
    draft = model()
    cached_or_measured(model(), draft, tmp_path)
    assert draft.widths


def test_without_a_folder_nothing_is_kept(tmp_path):
    assert evaluations(None) > 0
    assert evaluations(None) > 0


def test_what_was_kept_is_what_is_used(tmp_path):
    remember_times(model(), "verify", Times({1: 0.5, 4: 0.7}), tmp_path)
    costs = cached_or_measured(model(), None, tmp_path)
    assert (costs.verify(1), costs.verify(4)) == (0.5, 0.7)


def test_what_rounds_showed_while_others_were_busy_does_not_outlive_the_load(tmp_path):
    measured = {1: 1.0, 2: 1.5, 4: 2.0, 8: 4.0}
    for name, what in (("this", "verify"), ("draft", "draft")):
        remember_times(model(name), what, Times(dict(measured)), tmp_path)
    costs = cached_or_measured(model(), model("draft"), tmp_path)
    for _ in range(100):
        costs.saw_verify(8, 20.0)
        costs.saw_draft(1, 5.0)
    costs = cached_or_measured(model(), model("draft"), tmp_path)
    assert {n: costs.verify(n) for n in measured} == measured
    assert costs.draft(1) == measured[1]


@pytest.mark.parametrize("busy", [(2, 2), (1.2, 2.5), (3, 1.5)])
@pytest.mark.parametrize("when", [0, 1])
def test_look_in_a_busy_moment_leaves_nothing_once_another_was_in_peace(
    tmp_path, monkeypatch, busy, when
):
    """Other programs slow one token down by the first factor, wider batches by the second."""
    peace = {1: 0.08, 2: 0.13, 4: 0.15, 8: 0.30}
    slow = {n: took * busy[n > 1] for n, took in peace.items()}
    looks = [Times(peace, looks=1), Times(peace, looks=1)]
    looks.insert(when, Times(slow, looks=1))
    left = iter(looks)
    monkeypatch.setattr(machine_cache, "time_target", lambda model: next(left))
    for load in range(4):
        costs = cached_or_measured(model(), None, tmp_path)
        if load or when:
            assert {n: costs.verify(n) for n in peace} == pytest.approx(peace)


def test_file_of_an_earlier_version_is_read(tmp_path):
    remember_times(model(), "verify", Times({1: 1.0, 4: 2.0}), tmp_path)
    (file,) = tmp_path.iterdir()
    kept = json.loads(file.read_text())
    old = {key: {**each, "slope": 1e-5, "drift": {"1": 0.7}} for key, each in kept.items()}
    file.write_text(json.dumps(old))
    target = model()
    costs = cached_or_measured(target, None, tmp_path)
    assert (costs.verify(1), costs.verify(4)) == (1.0, 2.0)
    assert not target.widths


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[1, 2]",
        lambda text: "[" * 100_000,
        lambda text: "\0" + text,
        lambda text: text.replace('"seconds"', '"minutes"'),
        lambda text: text.replace('"1":', '"one":'),
        lambda text: text.replace('"1":', '"-1":'),
        lambda text: json.dumps({key: {"seconds": {}} for key in json.loads(text)}),
        lambda text: json.dumps(
            {key: {"seconds": {"7": 1}, "looks": 1} for key in json.loads(text)}
        ),
        lambda text: json.dumps({key: {"seconds": {"1": 0}} for key in json.loads(text)}),
    ],
)
def test_a_damaged_or_foreign_file_is_measured_again_and_mended(tmp_path, damage):
    believed(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text(damage(file.read_text()))
    assert evaluations(tmp_path) > 0
    believed(tmp_path)
    assert evaluations(tmp_path) == 0


def test_nobody_else_may_read_it(tmp_path):
    evaluations(tmp_path / "new" / "folder")
    (file,) = (tmp_path / "new" / "folder").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_written_costs_a_measurement_and_nothing_else(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert evaluations(tmp_path / "file") > 0


def test_records_are_bounded_and_the_oldest_make_room(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_cache, "MAX_RECORDS", 3)
    notes = Records(tmp_path / "notes.json", int)
    for number in (1, 2, 3, 1, 4):
        notes.put(f"note {number}", number)
    assert [notes.get(f"note {number}") for number in (1, 2, 3, 4)] == [1, None, 3, 4]


def test_a_cancel_passes_and_leaves_no_trace(tmp_path):
    target = model()
    target.stop_after = 3
    with pytest.raises(Cancelled):
        cached_or_measured(target, None, tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_was_measured_while_others_were_busy_is_measured_again(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_cache, "OtherLoad", OthersAreBusy)
    assert evaluations(tmp_path) > 0
    assert not list(tmp_path.iterdir())
