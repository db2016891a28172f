"""Complete files on which llama.cpp aborts: they end a worker at worst."""

import struct

import pytest

from assistant.events import Failed, Finished, Ready
from assistant.request import EngineArgs
from models import gguf
from models.errors import ModelError
from models.native.weights import Weights
from models.slim.writing import number_value, read_layout, texts_value, write
from tests.assistant.process.event_log import ask, running
from tests.engine import ENGINE
from tests.fuzz.targets import plain_sentence


def test_a_file_that_ends_the_engine_is_named_and_the_next_one_answers(tmp_path, tiny_target):
    sound = read_layout(tiny_target)
    equal = texts_value([b"t1", *(b"t%d" % i for i in range(1, 259))])
    changes = {
        "experts": {"llama.expert_count": number_value(1)},
        "equal-tokens": {"tokenizer.ggml.tokens": equal},
        "integers-for-weights": {},
    }
    path = tmp_path / "damaged.gguf"  # which is refused before native code sees it
    for key, value in [("block_count", 0), ("block_count", 2**32 - 1), ("context_length", 1)]:
        write(sound, path, {**sound.values, f"llama.{key}": number_value(value)})
        with pytest.raises(ModelError, match=rf"is damaged: it claims .*\b{value}\b") as refused:
            Weights(path)
        plain_sentence(str(refused.value), path)
    with running() as (engine, received):
        for name, values in changes.items():
            path = tmp_path / f"{name}.gguf"
            write(sound, path, {**sound.values, **values})
            if not values:  # the kind follows the name and the shape of a matrix
                data, at = path.read_bytes(), path.read_bytes().index(b"blk.0.attn_k.weight") + 19
                path.write_bytes(data[: at + 20] + struct.pack("<I", 26) + data[at + 24 :])
                assert 26 in gguf.read(path).tensors.matrices
            gguf.read(path)  # nothing is wrong with how it is written
            engine.submit(EngineArgs(path, n_ctx=512, threads=1, measure=False, engine=ENGINE))
            end = received.end()
            assert isinstance(end, Failed)
            assert end.kind in {"EngineDied", "EngineRefused"}
            plain_sentence(end.message, path)
        engine.submit(EngineArgs(tiny_target, n_ctx=512, threads=1, measure=False, engine=ENGINE))
        received.until(Ready)
        engine.submit(ask("Why?", max_tokens=4))
        assert received.until(Finished).stats.generated_tokens == 4
