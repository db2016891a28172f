"""What loading leaves behind when it does not go all the way."""

import pytest

from assistant.decoding.lookahead.policy import Control
from assistant.engine.load import Loader
from assistant.engine.weights_pool import Pool
from assistant.request import Setup
from models.cancel import CancelFlag
from models.errors import Cancelled
from models.llama import context as llama_context
from models.llama import weights as llama_weights
from models.llama.model import LlamaModel
from models.llama.weights import Weights
from tests import tiny


class Calls:
    """Count the calls of a function of llama.cpp, and make them."""

    def __init__(self, monkeypatch, module, name) -> None:
        self.count = 0
        self._original = getattr(module.llama, name)
        monkeypatch.setattr(module.llama, name, self)

    def __call__(self, *arguments):
        self.count += 1
        return self._original(*arguments)


def test_a_refused_draft_is_freed_at_once(tiny_target, tmp_path, monkeypatch):
    other = tiny.write(tmp_path / "m.gguf", "mamba")
    freed = Calls(monkeypatch, llama_weights, "llama_model_free")
    loader = Loader(
        Setup(tiny_target, other, 512, threads=1), Control(), lambda event: None, Pool()
    )
    _, ready = loader.load()
    assert ready.draft is None
    assert "take tokens back" in str(ready.no_draft)
    assert freed.count == 1
    loader.close()
    assert freed.count == 2


def test_a_context_whose_first_evaluation_is_stopped_is_freed(tiny_target, monkeypatch):
    freed = Calls(monkeypatch, llama_context, "llama_free")
    flag = CancelFlag()
    flag.raise_()
    weights = Weights(tiny_target)
    with pytest.raises(Cancelled):
        LlamaModel(weights, n_ctx=512, threads=1, cancel=flag)
    assert freed.count == 1
    weights.close()
