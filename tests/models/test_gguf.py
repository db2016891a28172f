"""`gguf`: the headers of sound files, and the refusal of malformed ones in a sentence."""

import errno
import os
import struct
import tracemalloc
from dataclasses import replace
from unittest.mock import Mock

import gguf as reference
import pytest

from models.errors import ModelError
from models.gguf import read
from models.gguf.header import _FILE_TYPES
from models.gguf.tensors import _BLOCKS
from models.memory import state_bytes
from models.native.weights import Weights
from models.slim.writing import length_and_text, read_layout, text_value, texts_value, write
from tests import tiny
from tests.engine import llama_alone
from tests.fuzz.targets import plain_sentence

HUGE = (1 << 64) - 1
U32, STRING, ARRAY = 4, 8, 9


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny.write(tmp_path_factory.mktemp("gguf") / "model.gguf")


def header(*content, version=3, tensors=0, values=0, magic=b"GGUF"):
    return magic + struct.pack("<IQQ", version, tensors, values) + b"".join(content)


def value(kind, data, key=b"k"):
    """Return a file with one value."""
    return header(length_and_text(key), struct.pack("<I", kind), data, values=1)


def array(kind, count, data=b"x"):
    return value(ARRAY, struct.pack("<IQ", kind, count) + data)


def tensor(name=b"t", shape=(32,), kind=0, offset=0, dimensions=None, room=128):
    """Return a file with one tensor, and so many bytes of weights."""
    sizes = struct.pack(f"<{len(shape)}Q", *shape)
    entry = struct.pack("<I", len(shape) if dimensions is None else dimensions) + sizes
    head = header(length_and_text(name), entry, struct.pack("<IQ", kind, offset), tensors=1)
    return head + bytes(-len(head) % 32 + room)


def test_header_says_what_was_written(model):
    header = read(model)
    assert (header.architecture, header.file_type, header.layers) == ("llama", "F32", 2)
    assert (header.n_vocab, header.n_ctx_train) == (259, 1024)
    assert header.template == tiny.TEMPLATE
    assert header.size == model.stat().st_size


@pytest.mark.parametrize(("kind", "attending"), [("llama", 2), ("lfm2", 2), ("gemma3", 6)])
def test_kv_cache_takes_two_bytes_a_number_of_each_layer_with_attention(tmp_path, kind, attending):
    header = read(tiny.write(tmp_path / "m.gguf", kind))
    assert header.kv_bytes_per_token == attending * tiny.KV_HEADS * 2 * tiny.HEAD * 2


@llama_alone
def test_a_token_reads_the_experts_that_it_needs_and_the_table_where_that_is_the_output(tmp_path):
    header = read(tiny.write(tmp_path / "m.gguf", "glm4moe"))
    everything = sum(header.tensors.matrices.values())
    assert everything / 2 < sum(header.tensors.read.values()) < everything
    tied = read(tiny.write(tmp_path / "t.gguf", "gemma3")).tensors
    table = 4 * tiny.EMBEDDING * 259
    assert sum(tied.read.values()) - sum(tied.matrices.values()) == table
    assert 4 * tied.prompt == sum(tied.matrices.values())


@pytest.mark.parametrize("kind", ["lfm2", "qwen35", "nemotron_h", "mamba", "llama"])
def test_the_size_of_a_state_is_what_the_library_keeps(open_tiny, kind):
    model = open_tiny(kind)
    model.logits([1, 2, 3], rows=0)
    c, handle, header = model.weights.engine.c, model._context._handle, model.weights.header
    partial = c.llama_state_seq_get_size_ext(handle, 0, 1) if model._context.recurrent else 0
    assert 0 <= partial - state_bytes(header) < 200  # lengths and types beside the numbers


def test_block_sizes_are_those_of_the_reference_library():
    # The library counts Q8_1, which no file holds, with a sum of 32 bits.
    expected = {kind.value: size for kind, size in reference.GGML_QUANT_SIZES.items()}
    del expected[reference.GGMLQuantizationType.Q8_1.value]
    assert {kind: _BLOCKS.get(kind) for kind in expected} == expected


def test_names_of_quantisations_are_those_of_the_reference_library():
    for kind in reference.LlamaFileType:
        name = kind.name.removeprefix("MOSTLY_").removeprefix("ALL_").removesuffix("_MOE")
        assert name in ("GUESSED", _FILE_TYPES.get(str(kind.value)))


IMPOSSIBLE = {
    "is GGUF version": [header(version=version) for version in (0, 1, 4, HUGE >> 32, 3 << 24)],
    "is not a GGUF file": [b"\0" * 9, header(magic=b"FUGU")],
    "a big-endian GGUF": [header(magic=b"FUGG")],
    "it claims .* tensors": [header(tensors=count) for count in (65_537, 1 << 40, HUGE)],
    "it claims .* values": [header(values=count) for count in (10_001, 1 << 40, HUGE)],
    "it claims .* bytes of text": [
        *(header(struct.pack("<Q", length), bytes(64), values=1) for length in (1025, HUGE)),
        *(value(STRING, struct.pack("<Q", length)) for length in (1 << 32, HUGE)),
        tensor(name=b"x" * 65),
        tensor(name=b"x" * 5000),
    ],
    "it claims .* strings": [array(STRING, count) for count in (1 << 32, HUGE)],
    "it ends inside its header": [
        *(header(tensors=1), header(values=1), array(STRING, 100), array(U32, 100)),
        *(array(U32, 1 << 60), value(STRING, struct.pack("<Q", 100)), header()[:20]),
    ],
    "the unknown type": [
        *(value(kind, bytes(4)) for kind in (13, HUGE >> 32)),
        *(array(kind, 1, bytes(12)) for kind in (ARRAY, 77)),
    ],
    "its alignment is": [
        *(value(U32, struct.pack("<I", size), b"general.alignment") for size in (0, 3, 33)),
        value(STRING, length_and_text(b"\x1b[2J" * 99_999), b"general.alignment"),
        value(6, bytes(4), b"general.alignment"),
    ],
    "has .* dimensions": [
        *(tensor(dimensions=count) for count in (0, 5, HUGE >> 32)),
        tensor(name=b"\x1b]0;x\x07\n\xe2\x80\xae" * 5, dimensions=0),
    ],
    "its last .* bytes are missing": [
        *(tensor(shape=shape) for shape in ((1 << 63,), (HUGE,), (1 << 24, 1 << 24))),
        *(tensor(shape=(1 << 31,) * 3), tensor(shape=(1 << 62,))),  # wraps around, in 64 bits
        *(tensor(offset=offset) for offset in (1 << 40, HUGE - 31, HUGE)),
        tensor(offset=HUGE, kind=99),
        *(tensor(shape=(33,)), tensor(room=127), tensor(room=0), tensor(offset=1)),
        tensor(shape=(32, 1), kind=2, room=17),
    ],
}  # fmt: skip
SOUND = (
    header(), header(version=2), value(U32, bytes(4)), value(U32, bytes(4), b""),
    value(U32, bytes(4), b"\xff\xfe"), array(U32, 2, bytes(8)), array(STRING, 1, bytes(8)),
    tensor(), tensor(shape=(32, 1), kind=2, room=18), tensor(kind=99),
)  # fmt: skip


@pytest.mark.parametrize("complaint", IMPOSSIBLE)
def test_impossible_claims_are_refused_in_a_plain_sentence(tmp_path, complaint):
    for number, data in enumerate(IMPOSSIBLE[complaint]):
        path = tmp_path / f"{number}.gguf"
        path.write_bytes(data)
        for use in (read, Weights):
            with pytest.raises(ModelError, match=complaint) as refusal:
                use(path)
            plain_sentence(str(refusal.value), path)


def test_a_sound_file_is_not_refused(tmp_path, model):
    for number, data in enumerate(SOUND):
        path = tmp_path / f"{number}.gguf"
        path.write_bytes(data)
        read(path)
    aligned = struct.pack("<II", U32, 64)
    layout = read_layout(model)
    wide = replace(layout, alignment=64)
    write(wide, tmp_path / "wide.gguf", {**layout.values, "general.alignment": aligned})
    assert read(tmp_path / "wide.gguf").unusable_reason is None


@pytest.mark.parametrize(
    ("key", "strange"),
    [
        ("general.architecture", text_value("\x1b[31mllama\n")),
        ("tokenizer.ggml.tokens", texts_value([])),
        ("tokenizer.ggml.tokens", text_value("a b c")),
        ("tokenizer.chat_template", struct.pack("<II", U32, 7)),
        ("tokenizer.chat_template", text_value("x" * 2_000_000)),
        ("general.description", text_value("\x1b]0;x\x07" * 999)),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_strange_value_in_a_sound_model_is_no_obstacle(tmp_path, model, key, strange):
    layout = read_layout(model)
    write(layout, tmp_path / "strange.gguf", {**layout.values, key: strange})
    header = read(tmp_path / "strange.gguf")
    assert (header.unusable_reason or "").isprintable()
    assert header.vocabulary is None or len(header.vocabulary) == 32


@pytest.mark.parametrize("kind", ["none", "no_vocab", "none\0x"])
def test_tokens_that_no_tokenizer_uses_are_no_vocabulary(tmp_path, model, kind):
    layout = read_layout(model)
    write(layout, tmp_path / "m.gguf", {**layout.values, "tokenizer.ggml.model": text_value(kind)})
    with pytest.raises(ModelError, match="it has no vocabulary"):
        Weights(tmp_path / "m.gguf")


def peak_of_refusal(path, sentence: str) -> int:
    """Return the most bytes of memory that it takes to refuse a file."""
    tracemalloc.start()
    with pytest.raises(ModelError, match=sentence):
        read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_claims_of_a_small_file_cannot_use_much_memory(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(array(STRING, 4 << 20, b"\0" * (8 * 1000)))
    assert peak_of_refusal(path, "it ends inside its header") < 4 << 20


@pytest.mark.parametrize("kind", ["texts", "an array of texts"])
def test_a_header_of_gigabytes_that_are_no_more_than_a_hole_takes_no_memory(tmp_path, kind):
    path, count, size = tmp_path / "hole.gguf", 100, (1 << 20) - 8
    with path.open("wb") as file:
        file.write(array(STRING, count, b"") if "array" in kind else header(values=count))
        for i in range(count):
            if "array" not in kind:
                file.write(length_and_text(b"%d" % i) + struct.pack("<I", STRING))
            file.write(struct.pack("<Q", size) + b"%4d" % i)
            file.seek(size - 4, os.SEEK_CUR)
        file.truncate()
    assert peak_of_refusal(path, "more than 64 MB") < 200_000_000


def test_a_disk_that_cannot_be_read_is_named_in_a_sentence(model, monkeypatch):
    failure = OSError(errno.EIO, os.strerror(errno.EIO))
    monkeypatch.setattr(os, "pread", Mock(side_effect=failure))
    with pytest.raises(ModelError, match=f"{model} cannot be read: Input/output error."):
        read(model)
