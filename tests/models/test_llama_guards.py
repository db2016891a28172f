"""Calls on which llama.cpp would abort are refused in Python, in a sentence."""

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from models import gguf
from models.errors import Cancelled, ContextFull, ModelError
from models.memory import auto_ctx
from models.native import loaded
from models.native.model import MAX_ROWS
from models.native.weights import Weights
from models.progress import CancelFlag
from tests import tiny
from tests.engine import llama_alone
from tests.models.evaluations import assert_same, decoding
from tests.scripts import ended

TALKATIVE = """
import sys
from contextlib import closing, suppress
from pathlib import Path
from models.errors import ModelError
from models.native import loaded
from models.native.weights import Weights
from models.native.model import NativeModel
from tests.engine import ENGINE
loaded.use(ENGINE)
with closing(Weights(Path(sys.argv[1]))) as file, closing(NativeModel(file, n_ctx=512)) as model:
    model.logits([1, 2, 3])
with suppress(ModelError):
    Weights(Path(sys.argv[2]))
"""


def test_a_context_too_long_is_refused_and_the_cache_stays(open_model, tiny_target):
    model = open_model(tiny_target, n_ctx=512)
    tokens = [i % 250 for i in range(512)]
    full = model.logits(tokens).copy()
    with pytest.raises(ContextFull, match=r"513 tokens.*512"):
        model.logits([*tokens, 1])
    assert model.cached(tokens) == 512
    assert_same(model.logits(tokens), full)


@pytest.mark.parametrize(
    ("tokens", "rows"), [([1, 2], -1), ([1, 2], 3), ([1] * 8, 8), ([], 1), ([1] * 99, MAX_ROWS + 1)]
)
def test_rows_out_of_range_are_refused(open_model, tiny_target, tokens, rows):
    with pytest.raises(ValueError, match="rows must be in"):
        open_model(tiny_target, max_rows=4).logits(tokens, rows)


def test_an_invalid_token_and_a_closed_model_are_refused_and_kill_nothing(open_model, tiny_target):
    model = open_model(tiny_target)
    before = model.logits([1, 2, 3]).copy()
    for token in (-1, model.n_vocab, 2**31 - 1):
        with pytest.raises(ModelError, match="could not evaluate"):
            model.logits([1, 2, token])
    assert_same(model.logits([1, 2, 3]), before)
    model.close()
    with pytest.raises(RuntimeError, match="closed"):
        model.logits([1, 2])


def test_a_second_evaluation_during_one_is_refused(open_model, tiny_target, monkeypatch):
    model, refusals = open_model(tiny_target), []

    def evaluate():
        with pytest.raises(RuntimeError, match="two threads"):
            model.logits([1, 2])
        refusals.append(True)

    with decoding(monkeypatch, before=evaluate):
        model.logits([1, 2, 3])
    assert refusals == [True]
    assert model.logits([1, 2]).shape == (1, model.n_vocab)


def test_a_context_is_at_most_what_the_model_was_trained_for(open_model, tmp_path, tiny_target):
    model = open_model(tiny_target, n_ctx=10**9, max_rows=10**6)
    assert (model.n_ctx, model.max_rows) == (1024, MAX_ROWS)
    path = tiny.write(tmp_path / "short.gguf", n_ctx=100)
    assert open_model(path, n_ctx=auto_ctx(gguf.read(path))).n_ctx == 100
    short = open_model(path, n_ctx=4096)
    assert short.n_ctx == 100
    assert short.logits([1] * 100).shape == (1, 259)
    with pytest.raises(ContextFull):
        short.logits([1] * 101)


@pytest.fixture
def strange(tmp_path: Path, tiny_target: Path) -> Path:
    """A file of an architecture that llama.cpp does not know."""
    path = tmp_path / "bad.gguf"
    path.write_bytes(tiny_target.read_bytes().replace(b"llama", b"lxama", 1))
    return path


def test_a_file_that_llama_cpp_refuses_is_named_with_its_reason(strange):
    with pytest.raises(ModelError) as caught:
        Weights(strange)
    assert str(strange) in str(caught.value)
    assert "no reason given" not in str(caught.value)


def test_a_flag_raised_while_loading_stops_it(tmp_path):
    path = tiny.write(tmp_path / "m.gguf", layers=8)
    flag = CancelFlag()
    with pytest.raises(Cancelled):
        Weights(path, cancel=flag, progress=lambda fraction: flag.raise_())
    flag.lower()
    Weights(path, cancel=flag).close()


def test_llama_cpp_writes_nothing_to_the_terminal(tiny_target, strange):
    """Seen from outside: in another process."""
    done = ended(TALKATIVE, tiny_target, strange, GGML_NO_BACKTRACE="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_bindings_that_lay_out_structures_otherwise_are_refused(monkeypatch):
    engine = loaded.engine()
    params = engine.c.llama_context_default_params()
    params.n_batch += 1
    monkeypatch.setattr(engine.c, "llama_context_default_params", lambda: params)
    with pytest.raises(ModelError, match=engine.package.command):
        engine.start()


def test_a_round_is_never_cut_if_the_engine_may_hang_of_it(open_model, tiny_target, monkeypatch):
    """An abort that threads see at different nodes leaves one of them waiting at a barrier."""
    engine, flag = loaded.engine(), CancelFlag()
    watch = Mock(wraps=engine.c.llama_set_abort_callback)
    monkeypatch.setattr(engine.c, "llama_set_abort_callback", watch)
    model = open_model(tiny_target, cancel=flag)
    model.logits(list(range(100)))
    assert watch.call_args.args[2].value == flag.address  # a long prompt stops soon
    model.logits([*range(100), 7, 8, 9], rows=4)
    assert (watch.call_args.args[2].value == flag.address) == engine.aborts_safely


def test_an_evaluation_without_rows_has_ended_when_it_returns(open_model, tiny_target, monkeypatch):
    """A GPU computes on after llama_decode; what it computes would be timed too early."""
    calls, model = [], open_model(tiny_target)
    monkeypatch.setattr(loaded.engine().c, "llama_synchronize", lambda _: calls.append("wait"))
    with decoding(monkeypatch, after=lambda: calls.append("decode")):
        model.logits([1, 2, 3], rows=0)
    assert calls == ["decode", "wait"]


def test_an_evaluation_that_no_cancel_could_cut_is_kept(open_model, tiny_target, monkeypatch):
    flag, tokens = CancelFlag(), [3, 1, 4, 1, 5]
    model = open_model(tiny_target, cancel=flag)
    with decoding(monkeypatch, after=flag.raise_):
        row = model.logits(tokens).copy()
    assert list(model.cached_tokens) == tokens
    with pytest.raises(Cancelled):
        model.logits([*tokens, 9])  # nothing begins while the flag is up
    flag.lower()
    model.logits([0])
    assert_same(model.logits(tokens), row)


@llama_alone
def test_a_file_with_a_prediction_head_is_run_without_it(open_model, tmp_path):
    model = open_model(tiny.write(tmp_path / "model.gguf", "glm4moe"))
    assert np.isfinite(model.logits([1, 2, 3], rows=3)).all()
