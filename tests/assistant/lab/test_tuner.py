"""A whole tuning with tiny models."""

import math

import pytest

from assistant.engine import batch_check, profile
from assistant.engine.profile import Profile
from assistant.lab import tune
from assistant.lab.protocol import Measuring, Tune
from assistant.request import EngineArgs
from models.errors import Cancelled, StorageError
from models.progress import CancelFlag
from tests.assistant.engine.simulated_model import prepared
from tests.engine import ENGINE


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(tune, "ROUNDS", 1)
    monkeypatch.setattr(profile, "CLEAR", math.inf)


def tuned(target, draft=None, handle=None, cancel=None, **setup):
    job = Tune(EngineArgs(target, draft, threads=setup.pop("threads", 1), engine=ENGINE, **setup))
    return tune.tune(job, cancel or CancelFlag(), handle or (lambda progress: None))


def test_a_pair_is_measured_and_progress_ends_at_the_end(tiny_target, tiny_draft):
    received: list[Measuring] = []
    found = tuned(tiny_target, tiny_draft, received.append)
    assert found.verify.keys() >= {*range(1, 18), 32}
    assert found.draft.keys() >= {1, 8, 64}
    fractions = [each.fraction for each in received]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1)
    assert received[-1].left_s == 0


@pytest.mark.parametrize("error", [0.0, 1.0])  # of wide batches; with 1.0, batches are narrow
def test_tuned_times_are_known_at_the_next_load(
    tiny_target, open_model, monkeypatch, tmp_path, error
):
    monkeypatch.setattr(batch_check, "error_of_wide_batches", lambda model, wide: error)
    measured = tuned(tiny_target, cache=tmp_path)
    monkeypatch.setattr(Profile, "measure", None)  # nothing may be measured
    model = open_model(tiny_target)
    batch_check.limit_batch(model, tmp_path)
    costs = prepared(model, None, tmp_path).costs
    assert costs.verify(8) == measured.verify[8]


def test_while_others_are_busy_nothing_is_kept(tiny_target, tmp_path, monkeypatch):
    monkeypatch.setattr(profile, "CLEAR", 0.0)
    assert not tuned(tiny_target, cache=tmp_path).is_kept
    assert not list(tmp_path.iterdir())


def test_a_cancel_stops_it_and_nothing_is_kept(tiny_target, tmp_path):
    cancel = CancelFlag()

    def stop(progress: Measuring) -> None:
        if progress.what.startswith("the cost curves"):
            cancel.raise_()

    with pytest.raises(Cancelled):
        tuned(tiny_target, cache=tmp_path, handle=stop, cancel=cancel)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_said(tiny_target, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="SPECCHAT_HOME"):
        tuned(tiny_target, cache=tmp_path / "file")
