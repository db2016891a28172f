"""A whole tuning with models made on the spot."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from assistant.decoding.lookahead import machine_cache
from assistant.decoding.lookahead.machine_cache import cached_or_measured
from assistant.engine import tuned_settings
from assistant.lab.protocol import Measuring, Tune
from assistant.lab.tune import cost_curves, settings_trial, tune
from assistant.lab.tune.settings_trial import Result
from assistant.lab.tune.tune import Tuner
from assistant.request import Setup, Tuning
from models.cancel import CancelFlag
from models.errors import Cancelled, ModelError, StorageError
from models.native.library import WeightSettings
from models.native.model import NativeModel
from models.native.weights import Weights
from tests import tiny
from tests.engine import ENGINE


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(settings_trial, "ROUNDS", 1)
    monkeypatch.setattr(cost_curves, "ROUNDS", 1)
    monkeypatch.setattr(tune, "OtherLoad", lambda: SimpleNamespace(is_heavy=False))


@pytest.fixture(scope="module")
def roomy(tmp_path_factory) -> Path:
    """A target with room for both depths."""
    return tiny.write(tmp_path_factory.mktemp("tiny") / "roomy.gguf", n_ctx=2048, stops=False)


def tuned(target, *variants, draft=None, hear=None, cancel=None, **setup):
    job = Tune(Setup(target, draft, threads=1, engine=ENGINE, **setup), variants)
    return Tuner(job, cancel or CancelFlag(), hear or (lambda progress: None)).run()


def test_a_pair_is_measured_at_two_depths_and_progress_ends_at_the_end(roomy, tiny_draft, tmp_path):
    draft = tiny.write(tmp_path / "draft.gguf", n_ctx=2048)
    heard: list[Measuring] = []
    found = tuned(roomy, draft=draft, hear=heard.append)
    assert [depth.tokens for depth in found.depths] == [16, 1024]
    for depth in found.depths:
        assert set(depth.verify) >= set(range(1, 18)) | {32}
        assert set(depth.draft) >= {1, 8, 64}
        assert {payoff.lookahead for payoff in depth.payoffs} >= {1, 3, 7, 31}
    fractions = [each.fraction for each in heard]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1, abs=0.02)
    assert heard[-1].left_s is not None


def test_a_target_alone_is_tuned_for_what_costs_nothing(tiny_target):
    found = tuned(tiny_target)
    assert len(found.paths) == len(found.tunings) == 1
    (depth,) = found.depths  # a context of 1,024 has no room for the deeper one
    assert depth.draft == {}
    assert all(payoff.with_draft is None for payoff in depth.payoffs)
    assert {outlook.source for outlook in depth.outlooks} == {"copying"}


def test_losers_are_named_with_their_ratio_and_the_usual_stays(tiny_target, monkeypatch, tmp_path):
    monkeypatch.setattr(settings_trial.Result, "is_faster", property(lambda self: False))
    found = tuned(tiny_target, cache=tmp_path)
    assert {trial.what for trial in found.trials} >= {"flash attention off"}
    assert all(trial.ratio and not trial.is_used for trial in found.trials)
    assert tuned_settings.found(tiny_target, None, tmp_path) == Tuning()


def test_winners_are_used_and_their_costs_are_known_at_the_next_load(
    tiny_target, monkeypatch, tmp_path
):
    monkeypatch.setattr(settings_trial, "other_counts", lambda: [1])
    monkeypatch.setattr(settings_trial.Result, "is_faster", property(lambda self: True))
    found = Tuner(
        Tune(Setup(tiny_target, engine=ENGINE, cache=tmp_path)), CancelFlag(), lambda _: None
    ).run()
    best = tuned_settings.found(tiny_target, None, tmp_path)
    assert found.tunings == (best,)
    assert best.flash_attention is False
    assert best.threads == 1

    monkeypatch.setattr(machine_cache, "time_target", None)  # nothing may be measured
    weights = Weights(tiny_target, WeightSettings(repack=best.repack))
    model = NativeModel(weights, threads=best.threads, flash_attention=best.flash_attention)
    costs = cached_or_measured(model, None, tmp_path)
    model.close()
    weights.close()
    assert costs.evaluation(8) == found.depths[0].verify[8]


def test_another_file_of_the_model_is_compared_and_one_that_is_broken_named(tiny_target, tmp_path):
    sibling = tiny.write(tmp_path / "sibling.gguf", seed=3)
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF")
    found = tuned(tiny_target, sibling, broken)
    good, bad = [trial for trial in found.trials if trial.role == "file"]
    assert (good.what, bad.what) == (str(sibling), str(broken))
    assert good.ratio
    assert good.speedup
    assert bad.ratio is None
    assert "broken.gguf" in bad.note


def test_a_file_without_room_in_memory_is_not_loaded(tiny_target, tmp_path, monkeypatch):
    monkeypatch.setattr(tune.memory, "estimate_by_size", lambda size, name: 1 << 60)
    sibling = tiny.write(tmp_path / "sibling.gguf", seed=3)
    found = tuned(tiny_target, sibling)
    assert "memory" in found.trials[-1].note


def test_while_others_are_busy_nothing_is_kept(tiny_target, tmp_path, monkeypatch):
    monkeypatch.setattr(tune, "OtherLoad", lambda: SimpleNamespace(is_heavy=True))
    found = tuned(tiny_target, cache=tmp_path)
    assert not found.is_kept
    assert not list(tmp_path.iterdir())


def test_a_cancel_stops_it_and_nothing_is_kept(tiny_target, tmp_path):
    cancel = CancelFlag()

    def stop(progress: Measuring) -> None:
        if progress.what.startswith("the cost curves"):
            cancel.raise_()

    with pytest.raises(Cancelled):
        tuned(tiny_target, cache=tmp_path, hear=stop, cancel=cancel)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_said(tiny_target, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="SPECCHAT_HOME"):
        tuned(tiny_target, cache=tmp_path / "file")


def test_a_target_that_cannot_be_loaded_is_an_error(tmp_path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError):
        tuned(tmp_path / "broken.gguf")


def test_a_setting_that_does_not_work_here_is_named_and_the_rest_is_measured(
    tiny_target, monkeypatch
):
    def refuse(*arguments: object) -> Result:
        raise ModelError("It does not work here.")

    monkeypatch.setattr(settings_trial, "contest", refuse)
    found = tuned(tiny_target)
    assert {trial.note for trial in found.trials} == {"It does not work here."}
    assert found.depths
