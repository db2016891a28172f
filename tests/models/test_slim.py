"""Drafts made from a file: what is left computes what it did, and nothing half-made is left."""

import errno
import hashlib
import os
import struct
from contextlib import contextmanager
from dataclasses import replace

import gguf as reference
import numpy as np
import pytest

from models.errors import ModelError, StorageError
from models.gguf import FileVocabulary, read, read_vocabulary, summarise
from models.gguf.summary import RECIPE, SOURCE, SOURCE_SHA256
from models.gguf.vocabulary import UNUSED
from models.mapping import Mapping
from models.native.library import WeightSettings
from models.native.weights import Weights
from models.slim import vocabulary, writing
from models.slim.workshop import Recipe, spaced, workshop
from models.slim.writing import read_layout
from tests import tiny

WORDS = tuple(f" word{i}" for i in range(100))
COUNTS = np.zeros(259 + len(WORDS), np.int64)
COUNTS[259:] = 1000 * np.random.default_rng(0).permutation(len(WORDS))
KEPT = 290
FREQUENT = sorted(np.argsort(-COUNTS[259:])[: KEPT - 259].tolist())
TEXT = [*b"def slim(draft):", *(259 + i for i in FREQUENT[:8]), 258]


@pytest.fixture
def models(bare_machine):
    """The folder of specchat's own models, empty."""
    return bare_machine / "models"


@pytest.fixture(params=["llama", "gemma3"], ids=["with a head", "with tied embeddings"])
def source(request, tmp_path):
    return tiny.write(tmp_path / "source.gguf", request.param, words=WORDS)


@contextmanager
def making(source):
    with workshop(source, lambda: COUNTS) as made:
        yield made


def tensors(path):
    return {tensor.name: tensor for tensor in reference.GGUFReader(path).tensors}


def field(path, key):
    return reference.GGUFReader(path).get_field(key).contents()


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_tokens_that_are_kept_have_the_same_logits_they_had(models, source, open_model):
    with making(source) as made:
        path = made.make(Recipe(tokens=KEPT))
        whole, part = open_model(source), open_model(path)
        mapping = Mapping.between(read_vocabulary(source), read_vocabulary(path))
    assert part.n_vocab == mapping.size == KEPT
    expected = whole.logits(TEXT)[0][mapping.named(np.arange(KEPT))]
    assert np.array_equal(mapping.shared(part.logits(mapping.known(TEXT))[0]), expected)


def test_rows_are_those_of_frequent_words_and_of_all_that_is_indispensable(models, source):
    with making(source) as made:
        kept = read_vocabulary(made.make(Recipe(tokens=KEPT)))
    words = [kept.piece(token).decode() for token in range(259, kept.size)]
    assert words == [f" word{i}" for i in FREQUENT]
    assert [kept.piece(byte) for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    assert [kept.text(token) for token in range(256, 259)] == list(tiny.CONTROLS)


def test_what_is_indispensable_is_kept_however_few_are_asked_for(models, source):
    with making(source) as made:
        assert summarise(made.make(Recipe(tokens=10))).n_vocab == 259


def test_words_that_were_never_counted_are_kept_by_their_numbers():
    texts = [b"word%d" % i for i in range(5000)]
    whole = FileVocabulary(texts, [])
    counts = np.zeros(5000, np.int64)
    counts[4000:4010], counts[4500:4600] = 1000, 1
    kept = vocabulary.kept(whole, counts, 110)
    assert kept.tolist() == [*range(100), *range(4000, 4010)]


def test_padding_is_never_kept():
    whole = FileVocabulary([*(bytes([i]) for i in range(97, 107)), b"padding"], [1] * 10 + [UNUSED])
    assert vocabulary.kept(whole, np.arange(11), 11).tolist() == list(range(10))


def test_metadata_follow_the_tokens_and_all_else_stays(models, source):
    with making(source) as made:
        path = made.make(Recipe(tokens=KEPT))
        before, after = read(source), read(path)
        changed = {key for key in before.metadata if before.metadata[key] != after.metadata[key]}
        token = "tokenizer.ggml."
        sizes = {f"{before.architecture}.vocab_size"}
        assert changed == {f"{token}tokens", f"{token}token_type", f"{token}merges"} | sizes
        assert after.number("vocab_size") == KEPT
        old, new = tensors(source), tensors(path)
        rows = [*range(259), *(259 + i for i in FREQUENT)]
        for name in old:
            trimmed = name in vocabulary.MATRICES
            expected = old[name].data[rows] if trimmed else old[name].data
            assert np.array_equal(new[name].data, expected), name


def test_text_is_tokenised_by_what_is_left(models, source):
    with making(source) as made:
        weights = Weights(made.make(Recipe(tokens=KEPT)), WeightSettings(vocab_only=True))
    assert (
        b"".join(map(weights.vocab.piece, weights.vocab.tokenize("déjà vu"))) == "déjà vu".encode()
    )
    assert weights.vocab.eos_text == "<|im_end|>"
    weights.close()


def spelt(*texts):
    return writing.texts([text.encode() for text in texts])


def numbers(kind, code, values):
    return struct.pack("<IIQ", 9, kind, len(values)) + np.array(values, code).tobytes()


def test_every_number_that_belongs_to_a_token_goes_with_it():
    values = {
        "tokenizer.ggml.model": writing.text("llama"),
        "tokenizer.ggml.tokens": spelt("a", "b", "c", "d", "ab", "abc", "cd"),
        "tokenizer.ggml.scores": numbers(6, "<f4", [0, -1, -2, -3, -4, -5, -6]),
        "tokenizer.ggml.token_type": numbers(5, "<i4", [1, 1, 1, 3, 1, 1, 1]),
        "tokenizer.ggml.merges": spelt("a b", "ab c", "c d"),
        "tokenizer.ggml.eos_token_id": writing.number(3),
        "tokenizer.ggml.padding_token_id": writing.number(6),
        "test.vocab_size": writing.number(7),
        "test.layers": numbers(4, "<u4", [1, 2, 3]),
    }
    assert vocabulary.without(values, np.array([0, 1, 3, 4]), 7) == {
        "tokenizer.ggml.model": writing.text("llama"),
        "tokenizer.ggml.tokens": spelt("a", "b", "d", "ab"),
        "tokenizer.ggml.scores": numbers(6, "<f4", [0, -1, -3, -4]),
        "tokenizer.ggml.token_type": numbers(5, "<i4", [1, 1, 3, 1]),
        "tokenizer.ggml.merges": spelt("a b"),
        "tokenizer.ggml.eos_token_id": writing.number(2),
        "test.vocab_size": writing.number(4),
        "test.layers": numbers(4, "<u4", [1, 2, 3]),
    }


def test_vocabulary_that_is_no_list_of_pieces_is_left_alone():
    values = {"tokenizer.ggml.model": writing.text("rwkv")}
    with pytest.raises(ModelError, match="'rwkv'"):
        vocabulary.without(values, np.array([0]), 1)


def test_weights_are_requantised_and_layers_left_out(models, tmp_path):
    source = tiny.write(tmp_path / "source.gguf", layers=8, words=WORDS)
    with making(source) as made:
        path = made.make(Recipe("Q4_0", KEPT, spaced(8, 2)))
        kinds = {t.tensor_type.name for t in tensors(path).values() if len(t.shape) > 1}
        assert kinds == {"Q4_0"}
        assert read(path).layers == 6
        assert summarise(path).n_vocab == KEPT
        kept = [i for i in range(8) if i not in spaced(8, 2)]
        for new, old in enumerate(kept):
            name = "blk.{}.attn_norm.weight"
            before, after = tensors(source)[name.format(old)], tensors(path)[name.format(new)]
            assert np.array_equal(before.data, after.data)


def test_layers_are_left_out_of_the_middle_evenly():
    assert spaced(24, 1) == (12,)
    assert spaced(24, 3) == (8, 12, 16)
    for layers in range(8, 100):
        for count in range(1, layers // 8 + 1):
            dropped = spaced(layers, count)
            assert len(set(dropped)) == count
            assert layers // 4 <= dropped[0] <= dropped[-1] < layers - layers // 4


def test_what_is_kept_says_how_it_was_made_and_can_be_checked(models, source):
    before = digest(source)
    with making(source) as made:
        place = made.keep(Recipe("Q4_0", KEPT), "a target, 5 bytes")
    assert place == models / "source-slim-q4_0-290.gguf"
    assert list(models.iterdir()) == [place]
    assert digest(source) == before == field(place, SOURCE_SHA256)
    assert field(place, SOURCE) == "source.gguf"
    assert field(place, RECIPE) == "Q4_0, 290 tokens"
    assert summarise(place).serves == "a target, 5 bytes"
    behind = place.read_bytes()[read_layout(place).data :]
    assert field(place, writing.CHECKSUM) == hashlib.sha256(behind).hexdigest()


def test_licence_goes_with_the_weights(models, tmp_path):
    source = tiny.write(tmp_path / "source.gguf", name="Tiny", words=WORDS)
    layout = read_layout(source)
    licensed = tmp_path / "licensed.gguf"
    values = {**layout.values, "general.license": writing.text("apache-2.0")}
    writing.write(layout, licensed, values)
    with making(licensed) as made:
        header = read(made.keep(Recipe("Q4_0", KEPT), ""))
    assert (header.metadata["general.license"], header.name) == ("apache-2.0", "Tiny slim")


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_full_disk_is_one_sentence_and_leaves_nothing(models, source, monkeypatch):
    monkeypatch.setattr(writing, "_pieces", full)
    with pytest.raises(StorageError, match="No space left"), making(source) as made:
        made.make(Recipe(tokens=KEPT))
    assert list(models.iterdir()) == []


def test_what_failed_half_way_is_made_again(models, source, monkeypatch):
    def half(*arguments):
        yield b"half"
        full()

    whole = writing._pieces
    with making(source) as made:
        monkeypatch.setattr(writing, "_pieces", half)
        with pytest.raises(StorageError):
            made.make(Recipe(tokens=KEPT))
        monkeypatch.setattr(writing, "_pieces", whole)
        assert summarise(made.make(Recipe(tokens=KEPT))).n_vocab == KEPT


def test_what_llama_cpp_refuses_is_one_sentence_and_leaves_nothing(models, tmp_path):
    source = tiny.write(tmp_path / "source.gguf")
    layout = read_layout(source)
    values = {**layout.values, "general.architecture": writing.text("fancynet")}
    writing.write(layout, tmp_path / "exotic.gguf", values)
    refused = pytest.raises(ModelError, match=r"cannot requantise .*exotic\.gguf: .*fancynet")
    with refused, making(tmp_path / "exotic.gguf") as made:
        made.make(Recipe("Q4_0"))
    assert list(models.iterdir()) == []


@pytest.mark.parametrize("moment", ["counting", "writing"])
def test_interrupt_leaves_nothing(models, source, monkeypatch, moment):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    if moment == "writing":
        monkeypatch.setattr(writing, "_pieces", interrupted)
    count = interrupted if moment == "counting" else lambda: COUNTS
    with pytest.raises(KeyboardInterrupt), workshop(source, count) as made:
        made.keep(Recipe(tokens=KEPT), "")
    assert list(models.iterdir()) == []


def test_what_a_killed_workshop_left_is_removed_by_a_later_one(models, source):
    stale, fresh = models / ".slim-stale", models / ".slim-fresh"
    for folder in (stale, fresh):
        folder.mkdir(parents=True)
        (folder / "q4_0.part").write_bytes(b"half")
    os.utime(stale, (0, 0))
    with making(source):
        assert not stale.exists()
        assert fresh.exists()  # its workshop may be open


def test_weights_of_a_type_unknown_here_are_not_guessed_at(models, source):
    layout = read_layout(source)
    with pytest.raises(ModelError, match="type 999"):
        writing.write(with_kind(layout, 999), source.with_name("new.gguf"), layout.values)


def with_kind(layout, kind):
    first, *others = layout.tensors
    return replace(layout, tensors=(replace(first, kind=kind), *others))
