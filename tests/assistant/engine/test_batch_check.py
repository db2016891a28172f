"""`batch_check`: each file is checked once, and gets narrow batches where wide ones are wrong."""

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from assistant.engine import batch_check, engine_choice
from assistant.engine.batch_check import ERROR, NARROW, error_of_wide_batches, limit_batch
from assistant.engine.engine_choice import EngineChoice
from assistant.request import EngineArgs
from models.errors import EngineRefused, OtherEngine
from models.native.context import Context
from models.native.engine import BATCH
from tests.assistant.engine.answering import loaded
from tests.engine import needs_both

WRONG_FROM = 32  # tokens


@pytest.fixture
def misread(monkeypatch):
    """Have batches of many tokens give rows that are off by a share of their length."""
    evaluate, rows, width = Context.evaluate, Context.rows, [0]

    def evaluated(self, tokens, rows):
        width[0] = len(tokens)
        evaluate(self, tokens, rows)

    def by(share):
        def wrong(self, count):
            right = rows(self, count)
            off = np.roll(right, 1, axis=1) * share if width[0] >= WRONG_FROM else 0
            return right + off

        monkeypatch.setattr(Context, "evaluate", evaluated)
        monkeypatch.setattr(Context, "rows", wrong)

    return by


@pytest.mark.parametrize(("share", "batch"), [(0.0, BATCH), (0.15, BATCH), (0.3, NARROW)])
def test_wrong_wide_batches_are_detected(tmp_path, tiny_target, open_model, misread, share, batch):
    model = open_model(tiny_target)
    misread(share)
    assert error_of_wide_batches(model) == pytest.approx(share, abs=0.02)
    assert limit_batch(model, tmp_path) == (batch < BATCH)
    assert (model.batch, model.max_rows) == (batch, min(32, batch))
    assert error_of_wide_batches(model) < ERROR


def test_a_file_is_checked_once_per_change(tmp_path, tiny_target, open_model, misread, monkeypatch):
    check = Mock(side_effect=batch_check.error_of_wide_batches)
    monkeypatch.setattr(batch_check, "error_of_wide_batches", check)
    misread(0.5)
    for _ in range(2):
        model = open_model(tiny_target)
        assert limit_batch(model, tmp_path)
        assert model.batch == NARROW
        assert check.call_count == 1
    tiny_target.touch()
    limit_batch(open_model(tiny_target), tmp_path)
    assert check.call_count == 2


@pytest.fixture
def setup(tiny_target, tmp_path, monkeypatch):
    """A setup that ik_llama.cpp is chosen for, whatever this process has loaded."""
    setup = EngineArgs(tiny_target, n_ctx=512, threads=1, cache=tmp_path, measure=False)
    monkeypatch.setattr("assistant.engine.load.loaded", SimpleNamespace(use=lambda name: None))
    assert engine_choice.choose_engine(setup).engine == "ik"
    return setup


@needs_both
@pytest.mark.parametrize("engine", ["auto", "ik"])
def test_a_file_that_ik_misreads_is_run_by_llama_cpp(setup, misread, engine):
    setup = replace(setup, engine=engine)
    misread(0.5)
    if engine == "auto":
        with pytest.raises(OtherEngine, match=r"misreads prompts of target\.gguf"), loaded(setup):
            pass
        assert engine_choice.choose_engine(setup).engine == "llama"
        assert "misreads" in engine_choice.choose_engine(setup).reason
    else:
        with loaded(setup) as (assistant, _):
            assert assistant.target.max_rows == NARROW


@needs_both
@pytest.mark.parametrize("engine", ["auto", "ik"])
def test_a_file_that_ik_cannot_load_is_run_by_llama_cpp(setup, monkeypatch, engine):
    setup = replace(setup, engine=engine)
    refused = EngineRefused("It is too new.")
    monkeypatch.setattr("models.native.weights.Weights", Mock(side_effect=refused))
    error = OtherEngine if engine == "auto" else EngineRefused
    with pytest.raises(error, match="too new"), loaded(setup):
        pass
    chosen = engine_choice.choose_engine(setup)
    known = EngineChoice("llama", "It is too new.")
    assert chosen == (known if engine == "auto" else EngineChoice("ik", "You chose it."))
