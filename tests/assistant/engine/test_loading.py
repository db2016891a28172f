"""What loading leaves behind when it does not go all the way."""

import pytest

from assistant.decoding.lookahead.policy import Control
from assistant.engine.load import Loader
from assistant.engine.weights_pool import Pool
from assistant.request import Setup
from models.cancel import CancelFlag
from models.errors import Cancelled
from models.native.model import NativeModel
from models.native.weights import Weights
from tests import tiny


def test_a_refused_draft_is_freed_at_once(tiny_target, tmp_path, calls):
    other = tiny.write(tmp_path / "m.gguf", "mamba")
    freed = calls("llama_model_free")
    setup = Setup(tiny_target, other, 512, threads=1)
    loader = Loader(setup, Control(), lambda event: None, Pool())
    _, ready = loader.load()
    assert ready.draft is None
    assert "take tokens back" in str(ready.no_draft)
    assert len(freed) == 1
    loader.close()
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
