import os
import struct
import tracemalloc

import gguf as reference
import pytest

from models.errors import ModelError
from models.gguf import read
from models.gguf.header import _FILE_TYPES
from models.gguf.tensors import _BLOCKS
from models.native.model import NativeModel
from models.native.weights import Weights
from models.rollback import state_bytes
from tests import tiny
from tests.engine import llama_alone


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny.write(tmp_path_factory.mktemp("gguf") / "model.gguf")


def written(path, data):
    path.write_bytes(data)
    return path


def string(text):
    return struct.pack("<Q", len(text)) + text


def header(version=3, tensors=0, values=0):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, values)


def test_header_says_what_was_written(model):
    header = read(model)
    assert header.architecture == "llama"
    assert header.n_vocab == 259
    assert header.n_ctx_train == 1024
    assert header.layers is not None
    assert header.template == tiny.TEMPLATE
    assert header.file_type == "F32"
    assert header.size == model.stat().st_size


def test_kv_cache_takes_two_bytes_for_each_number_of_each_layer(model):
    header = read(model)
    expected = header.layers * tiny.KV_HEADS * (tiny.HEAD + tiny.HEAD) * 2
    assert header.kv_bytes_per_token == expected


def test_layers_without_attention_take_no_kv_cache(tmp_path):
    header = read(tiny.write(tmp_path / "lfm2.gguf", "lfm2"))
    heads = header.metadata["lfm2.attention.head_count_kv"]
    assert 0 in heads
    assert header.kv_bytes_per_token == sum(heads) * (tiny.HEAD + tiny.HEAD) * 2


@llama_alone
@pytest.mark.parametrize("kind", ["lfm2", "qwen35", "nemotron_h", "mamba", "llama"])
def test_the_size_of_a_state_is_what_the_library_keeps(tmp_path, kind):
    weights = Weights(tiny.write(tmp_path / "model.gguf", kind))
    model = NativeModel(weights, n_ctx=256, threads=1)
    model.logits([1, 2, 3], rows=0)
    c, handle = weights.engine.c, model._context._handle
    partial = c.llama_state_seq_get_size_ext(handle, 0, 1) if model._context.recurrent else 0
    assert 0 <= partial - state_bytes(weights.header) < 200  # lengths and types beside the numbers
    model.close()
    weights.close()


def test_block_sizes_are_those_of_the_reference_library():
    # The library counts Q8_1, which no file holds, with a sum of 32 bits.
    expected = {kind.value: size for kind, size in reference.GGML_QUANT_SIZES.items()}
    del expected[reference.GGMLQuantizationType.Q8_1.value]
    assert {kind: _BLOCKS.get(kind) for kind in expected} == expected


def test_names_of_quantisations_are_those_of_the_reference_library():
    for kind in reference.LlamaFileType:
        name = kind.name.removeprefix("MOSTLY_").removeprefix("ALL_").removesuffix("_MOE")
        assert name in ("GUESSED", _FILE_TYPES.get(str(kind.value)))


@pytest.mark.parametrize("keep", [4, 20, 100, 3000, 0.5, -1])
def test_a_truncated_file_is_refused(tmp_path, model, keep):
    data = model.read_bytes()
    length = keep if isinstance(keep, int) else int(len(data) * keep)
    path = written(tmp_path / "model.gguf", data[:length])
    for use in (read, Weights):
        with pytest.raises(ModelError, match=f"{path} is damaged"):
            use(path)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (header(version=1), "version 1"),
        (header(version=99), "version 99"),
        (header(tensors=1 << 40), "tensors"),
        (header(values=1 << 40), "values"),
        (header(values=1) + string(b"k") + struct.pack("<I", 13), "unknown type"),
        (header(values=1) + struct.pack("<Q", 1 << 62), "bytes of text"),
        (header(values=1) + string(b"k") + struct.pack("<IQ", 8, 1 << 62), "bytes of text"),
        (header(values=1) + string(b"k") + struct.pack("<IIQ", 9, 8, 1 << 60), "strings"),
        (header(values=1) + string(b"k") + struct.pack("<IIQ", 9, 4, 1 << 60), "ends inside"),
        (header(values=1) + string(b"k") + struct.pack("<IIQ", 9, 9, 1), "unknown type"),
        (header(values=1) + string(b"general.alignment") + struct.pack("<II", 4, 3), "alignment"),
        (header(tensors=1) + string(b"t") + struct.pack("<I", 9), "dimensions"),
        (header(tensors=1) + string(b"t") + struct.pack("<IQIQ", 1, 0, 0, 0), "impossible"),
        (header(tensors=1) + string(b"t") + struct.pack("<IQQIQ", 2, 31, 1, 2, 0), "whole blocks"),
        (header(tensors=1) + string(b"t") + struct.pack("<IQQIQ", 2, 32, 1, 2, 0), "missing"),
        (header(tensors=1) + string(b"t") + struct.pack("<IQIQ", 1, 1 << 60, 0, 0), "impossible"),
    ],
)
def test_impossible_claims_are_refused(tmp_path, data, complaint):
    with pytest.raises(ModelError, match=complaint):
        read(written(tmp_path / "model.gguf", data + b"\0" * 8))


def test_claims_of_a_small_file_cannot_use_much_memory(tmp_path):
    count = 4 << 20
    claim = header(values=1) + string(b"k") + struct.pack("<IIQ", 9, 8, count)
    path = written(tmp_path / "model.gguf", claim + b"\0" * (8 * 1000))
    tracemalloc.start()
    with pytest.raises(ModelError):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.parametrize("kind", ["texts", "an array of texts"])
def test_a_header_of_gigabytes_that_are_no_more_than_a_hole_takes_no_memory(tmp_path, kind):
    path, count, size = tmp_path / "hole.gguf", 100, (1 << 20) - 8
    with path.open("wb") as file:
        file.write(header(values=1 if "array" in kind else count))
        if "array" in kind:
            file.write(string(b"tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, count))
        for i in range(count):
            if "array" not in kind:
                file.write(string(b"%d" % i) + struct.pack("<I", 8))
            file.write(struct.pack("<Q", size) + b"%4d" % i)
            file.seek(size - 4, os.SEEK_CUR)
        file.truncate()
    tracemalloc.start()
    with pytest.raises(ModelError, match="more than 64 MB of text"):
        read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000_000
