"""Loading: what it prefills and offers, and that it frees everything when it fails."""

from dataclasses import replace

import pytest

from assistant.decoding.sources.draft import Run
from assistant.engine.control import Control
from assistant.engine.sources import ngram_store
from assistant.engine.sources.ngram import build_tables
from assistant.request import EngineArgs, Message, Request
from models import gguf
from models.errors import Cancelled
from models.native.model import NativeModel
from models.native.weights import Weights
from models.progress import CancelFlag
from tests import tiny
from tests.assistant.engine.answering import loaded


def test_a_refused_draft_is_freed_at_once(tiny_target, tmp_path, calls, monkeypatch):
    other = tiny.write(tmp_path / "m.gguf", "mamba")
    warm_up = NativeModel._warm_up
    monkeypatch.setattr(NativeModel, "_warm_up", lambda m: m.max_rows > 1 and warm_up(m))
    freed = calls("llama_model_free")
    with loaded(EngineArgs(tiny_target, other, 512, threads=1)) as (_, ready):
        assert ready.draft is None
        assert "roll back tokens" in str(ready.no_draft)
        assert len(freed) == 1
    assert len(freed) == 2


def test_a_context_whose_first_evaluation_is_stopped_is_freed(tiny_target, calls):
    freed = calls("llama_free")
    flag = CancelFlag()
    flag.raise_()
    weights = Weights(tiny_target)
    with pytest.raises(Cancelled):
        NativeModel(weights, n_ctx=512, threads=1, cancel=flag)
    assert len(freed) == 1
    weights.close()


@pytest.mark.parametrize("recalls", [False, True])
def test_bundled_tables_serve_their_vocabulary_alone(tiny_target, tmp_path, monkeypatch, recalls):
    monkeypatch.setattr(ngram_store, "BUNDLED", tmp_path)
    setup = EngineArgs(tiny_target, None, 512, threads=1, recalls=recalls)

    def offered() -> object:
        with loaded(setup) as (assistant, _):
            source = assistant.sources.get("ngram")
        run = source and source.offer([1, 2], 1)
        return run.tokens if isinstance(run, Run) else None

    tables = tmp_path / f"{gguf.read(tiny_target).vocabulary}.ngrams"
    tables.with_name("another.ngrams").write_bytes(build_tables([[1, 2, 3]] * 3))
    assert offered() is None
    tables.write_bytes(build_tables([[1, 2, 3]] * 3))
    assert offered() == (3,)


def cached(model: object) -> list[int]:
    assert isinstance(model, NativeModel)
    return [*model.cached_tokens]


def test_the_prefix_of_any_conversation_is_prefilled_at_loading(tiny_target, tiny_draft, tmp_path):
    setup = EngineArgs(tiny_target, tiny_draft, 512, engine="llama", cache=tmp_path)
    with loaded(setup) as (assistant, _):
        cached_tokens = cached(assistant.target)
        assert cached_tokens == cached(assistant.draft)
        asked = Request((Message("user", "Why?"),), max_tokens=1)
        prompt = assistant.prompt(asked, Control()).tokens
        assert 0 < len(cached_tokens) < len(prompt)
        assert prompt[: len(cached_tokens)] == cached_tokens
    with loaded(replace(setup, measure=False)) as (assistant, _):
        assert not cached(assistant.target)
