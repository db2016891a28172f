"""What was measured is remembered: per file, library, machine and settings, in a private file."""

import json
import stat

import pytest

from assistant.lookahead import known, records
from assistant.lookahead.known import cached_or_measured, keep, remember
from assistant.lookahead.records import Records
from assistant.lookahead.times import ENOUGH, Times
from models.errors import Cancelled
from tests.assistant.stopwatched import Stopwatched


class OthersAreIdle:
    is_heavy = False


class OthersAreBusy:
    is_heavy = True


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(known, "OtherLoad", OthersAreIdle)


def model(conditions="this", **options):
    return Stopwatched(lambda width, depth: 0.0, conditions=conditions, **options)


def evaluations(folder, conditions="this", draft=None):
    target = model(conditions)
    costs = cached_or_measured(target, draft, folder)
    assert costs.verify(1) > 0
    return len(target.widths)


def believed(folder, **more):
    """Load until the times are believed."""
    for _ in range(ENOUGH):
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
    monkeypatch.setattr(known, "time_target", lambda model: next(looks))
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
    remember(model(), "verify", Times({1: 0.5, 4: 0.7}, 1e-3), tmp_path)
    costs = cached_or_measured(model(), None, tmp_path)
    costs.behind(100)
    assert (costs.verify(1), costs.verify(4)) == pytest.approx((0.6, 1.1))


def used(folder, factor, times=1):
    """Load, have every width but 1 take `factor` times as long as measured, and keep that."""
    for _ in range(times):
        costs = cached_or_measured(model(), model("draft"), folder)
        for _ in range(20):
            for width in (2, 4, 8, 16):
                costs.saw_verify(width, factor * MEASURED[width])
            costs.saw_verify(1, MEASURED[1])
            costs.saw_draft(1, MEASURED[1])
        keep(model(), model("draft"), costs, folder)
    return cached_or_measured(model(), model("draft"), folder)


MEASURED = {1: 1.0, 2: 1.5, 4: 2.0, 8: 4.0, 16: 7.0}


@pytest.fixture
def measured(tmp_path):
    for what, name in (("verify", "this"), ("draft", "draft")):
        remember(model(name), what, Times(dict(MEASURED)), tmp_path)
    return tmp_path


def test_what_rounds_show_is_kept_for_the_next_load(measured):
    costs = used(measured, 2.0)
    assert costs.verify(8) / costs.verify(1) == pytest.approx(8, rel=0.25)
    assert costs.draft(1) == pytest.approx(MEASURED[1], rel=0.1)


def test_what_has_passed_is_forgotten(measured):
    used(measured, 2.0, times=3)
    costs = used(measured, 1.0, times=2)
    assert costs.verify(8) / costs.verify(1) == pytest.approx(4, rel=0.1)


def test_a_width_that_was_slow_once_and_is_never_seen_again_is_tried_some_day(measured):
    used(measured, 2.0, times=3)
    for _ in range(25):
        costs = cached_or_measured(model(), None, measured)
        keep(model(), None, costs, measured)
    assert costs.verify(8) == pytest.approx(MEASURED[8], rel=0.05)


def test_a_use_that_showed_nothing_writes_nothing(measured):
    (file,) = measured.iterdir()
    before = file.stat().st_mtime_ns, file.read_bytes()
    keep(model(), None, cached_or_measured(model(), None, measured), measured)
    assert (file.stat().st_mtime_ns, file.read_bytes()) == before


def test_what_is_not_confirmed_yet_is_measured_again_whatever_rounds_show(tmp_path):
    costs = cached_or_measured(model(), None, tmp_path)
    costs.saw_verify(1, 100.0)
    keep(model(), None, costs, tmp_path)
    assert evaluations(tmp_path) > 0


@pytest.mark.parametrize("folder", ["gone", "file"])
def test_costs_that_cannot_be_kept_are_not_missed(measured, folder):
    costs = cached_or_measured(model(), None, measured)
    costs.saw_verify(1, 100.0)
    (measured / "file").write_text("in the way")
    keep(model(), None, costs, measured / folder)


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
        lambda text: json.dumps(
            {key: {"seconds": {"1": 1}, "slope": -1} for key in json.loads(text)}
        ),
        lambda text: json.dumps(
            {key: {"seconds": {"1": 1}, "drift": {"1": 1e9}} for key in json.loads(text)}
        ),
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
    monkeypatch.setattr(records, "MOST", 3)
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
    monkeypatch.setattr(known, "OtherLoad", OthersAreBusy)
    assert evaluations(tmp_path) > 0
    assert not list(tmp_path.iterdir())
