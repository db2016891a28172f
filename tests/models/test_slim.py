"""Slim drafts: the kept tokens have the same logits, and the default pair's is made once."""

import errno
import os
import shutil
import struct
from dataclasses import replace
from unittest.mock import Mock

import gguf as reference
import numpy as np
import pytest

from assistant.decoding.sources.model import VocabularyMapping
from models import catalog, engines
from models.catalog import GGUF
from models.drafts import best_draft, own_draft, target_mark
from models.errors import ModelError, StorageError
from models.files import checksum
from models.files.locate import identify
from models.files.stores import discover
from models.gguf import FileVocabulary, read, read_vocabulary
from models.gguf.header import RECIPE, SERVES, SOURCE, SOURCE_SHA256
from models.gguf.vocabulary import UNUSED
from models.mapping import shared_tokens
from models.slim import slim_draft, writing
from models.slim.writing import read_layout
from tests import tiny
from tests.models.files.stores import file
from tests.tools.public_text.vocabulary import packed

WORDS = tuple(f" word{i}" for i in range(101))  # in all a multiple of eight
SIZE = 259 + len(WORDS)
KEPT = 290
FREQUENT = sorted(np.random.default_rng(0).permutation(len(WORDS))[: KEPT - 259].tolist())
IDS = np.array([*range(259), *(259 + i for i in FREQUENT)])
TEXT = [*b"def slim(draft):", *(259 + i for i in FREQUENT[:8]), 258]


@pytest.fixture
def models(bare_machine):
    """The folder of specchat's own models, empty."""
    return bare_machine / "models"


@pytest.fixture(params=["llama", "gemma3"], ids=["with a head", "with tied embeddings"])
def source(request, tmp_path):
    return tiny.write(tmp_path / "source.gguf", request.param, name="Tiny", words=WORDS)


@pytest.fixture
def unquantised(monkeypatch):
    """Keep the weights as they are."""
    monkeypatch.setattr(slim_draft, "quantize", shutil.copy)


def made(source, ids=IDS):
    return slim_draft.make(source, ids, "a target, 5 bytes", read)


def tensors(path):
    return {tensor.name: tensor for tensor in reference.GGUFReader(path).tensors}


def test_tokens_that_are_kept_have_the_logits_they_had(models, source, open_model, unquantised):
    path = made(source)
    whole, part = open_model(source), open_model(path)
    mapping = VocabularyMapping(*shared_tokens(read_vocabulary(source), read_vocabulary(path)))
    assert part.n_vocab == mapping.size == KEPT
    expected = whole.logits(TEXT)[0][mapping.to_target(np.arange(KEPT))]
    assert np.array_equal(mapping.shared(part.logits(mapping.to_draft(TEXT))[0]), expected)


def test_tokens_with_low_numbers_are_the_most_frequent_and_some_are_indispensable(source):
    whole = read_vocabulary(source)
    padded = FileVocabulary([bytes([i]) for i in range(97, 108)], [1] * 10 + [UNUSED])
    for known, size, kept in ((whole, 10, 259), (whole, 280, 280), (padded, 11, 10)):
        assert writing.most_frequent(known, size).tolist() == list(range(kept))


def test_a_small_vocabulary_is_kept_whole(models, source):
    path = made(source, writing.most_frequent(read_vocabulary(source), 64_000))
    assert path.name == "source-slim-q4_0.gguf"
    assert read(path).n_vocab == read(source).n_vocab


def test_metadata_follow_the_tokens_and_all_else_stays(models, source, unquantised):
    path = made(source)
    before, after = read(source), read(path)
    noted = {RECIPE, SOURCE, SOURCE_SHA256, SERVES, "general.name"}
    keys = (before.metadata.keys() | after.metadata.keys()) - noted
    changed = {key for key in keys if before.metadata.get(key) != after.metadata.get(key)}
    token = "tokenizer.ggml."
    sizes = {f"{before.architecture}.vocab_size"}
    assert changed == {f"{token}tokens", f"{token}token_type", f"{token}merges"} | sizes
    assert after.number("vocab_size") == KEPT
    old, new = tensors(source), tensors(path)
    for name, tensor in old.items():
        expected = tensor.data[IDS] if name in writing.MATRICES else tensor.data
        assert np.array_equal(new[name].data, expected), name


def test_text_is_tokenised_by_what_is_left(models, source, open_model):
    vocab = open_model(made(source)).weights.vocab
    assert b"".join(map(vocab.piece, vocab.tokenize("déjà vu"))) == "déjà vu".encode()
    assert vocab.eos_text == "<|im_end|>"


def spelt(*texts):
    return writing.texts_value([text.encode() for text in texts])


def numbers(kind, code, values):
    return struct.pack("<IIQ", 9, kind, len(values)) + np.array(values, code).tobytes()


def test_every_number_that_belongs_to_a_token_goes_with_it():
    values = {
        "tokenizer.ggml.model": writing.text_value("llama"),
        "tokenizer.ggml.tokens": spelt("a", "b", "c", "d", "ab", "abc", "cd"),
        "tokenizer.ggml.scores": numbers(6, "<f4", [0, -1, -2, -3, -4, -5, -6]),
        "tokenizer.ggml.token_type": numbers(5, "<i4", [1, 1, 1, 3, 1, 1, 1]),
        "tokenizer.ggml.merges": spelt("a b", "ab c", "c d"),
        "tokenizer.ggml.eos_token_id": writing.number_value(3),
        "tokenizer.ggml.padding_token_id": writing.number_value(6),
        "test.vocab_size": writing.number_value(7),
        "test.layers": numbers(4, "<u4", [1, 2, 3]),
    }
    assert writing.trimmed(values, np.array([0, 1, 3, 4]), 7) == {
        "tokenizer.ggml.model": writing.text_value("llama"),
        "tokenizer.ggml.tokens": spelt("a", "b", "d", "ab"),
        "tokenizer.ggml.scores": numbers(6, "<f4", [0, -1, -3, -4]),
        "tokenizer.ggml.token_type": numbers(5, "<i4", [1, 1, 3, 1]),
        "tokenizer.ggml.merges": spelt("a b"),
        "tokenizer.ggml.eos_token_id": writing.number_value(2),
        "test.vocab_size": writing.number_value(4),
        "test.layers": numbers(4, "<u4", [1, 2, 3]),
    }


def test_vocabulary_that_is_no_list_of_pieces_is_left_alone():
    values = {"tokenizer.ggml.model": writing.text_value("rwkv")}
    with pytest.raises(ModelError, match="'rwkv'"):
        writing.trimmed(values, np.array([0]), 1)


def test_a_slim_draft_is_requantised_and_says_how_it_was_made(models, source):
    before = checksum.sha256(source)
    path = made(source)
    assert path == models / "source-slim-q4_0-290.gguf"
    assert list(models.iterdir()) == [path]
    assert {t.tensor_type.name for t in tensors(path).values() if len(t.shape) > 1} == {"Q4_0"}
    header = read(path)
    noted = [header.metadata[key] for key in (SOURCE, SOURCE_SHA256, RECIPE, SERVES)]
    assert noted == ["source.gguf", before, "Q4_0, 290 tokens", "a target, 5 bytes"]
    assert header.name == "Tiny slim"
    assert checksum.sha256(source) == before


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("moment", ["_pieces", "_table"])
@pytest.mark.parametrize(
    ("end", "error", "sentence"),
    [(FULL, StorageError, ": No space left"), (KeyboardInterrupt, KeyboardInterrupt, None)],
)
def test_after_any_end_it_is_made_afresh(models, source, monkeypatch, moment, end, error, sentence):
    with monkeypatch.context() as patched:
        patched.setattr(writing, moment, Mock(side_effect=end))
        with pytest.raises(error, match=sentence):
            made(source)
    assert list(models.iterdir()) == []
    assert read(made(source)).n_vocab == KEPT


def test_a_model_that_cannot_be_requantised_is_one_sentence_and_leaves_nothing(models, tmp_path):
    layout = read_layout(tiny.write(tmp_path / "source.gguf"))
    values = {**layout.values, "general.architecture": writing.text_value("fancynet")}
    writing.write(layout, tmp_path / "exotic.gguf", values)
    with pytest.raises(ModelError, match=r"cannot requantise .*exotic\.gguf: .*fancynet"):
        slim_draft.make(tmp_path / "exotic.gguf", np.arange(259), "", read)
    assert list(models.iterdir()) == []


def test_the_folder_of_a_killed_program_is_removed_later(models, source):
    stale, fresh, other = (models / f".slim-{end}" for end in ("0f" * 16, "1e" * 16, "framework"))
    for folder in (stale, fresh, other):
        file(folder / "q4_0.part", b"half")
    for folder in (stale, other):
        os.utime(folder, (0, 0))
    made(source)
    assert not stale.exists()
    assert other.exists()  # the user's own
    assert fresh.exists()  # it may be in use


def test_weights_of_a_type_unknown_here_are_not_guessed_at(models, source):
    layout = read_layout(source)
    first, *others = layout.tensors
    strange = replace(layout, tensors=(replace(first, kind=999), *others))
    with pytest.raises(ModelError, match="type 999"):
        writing.write(strange, source.with_name("new.gguf"), layout.values)


LISTED = [*range(259), *range(300, 320)]


@pytest.fixture
def pair(bare_machine, monkeypatch):
    """A machine with the default pair, which is tiny here, and the list of what its draft keeps."""
    for name, layers in (("big", 12), ("small", 4)):
        path = tiny.write(bare_machine / "models" / f"{name}.gguf", layers=layers, words=WORDS)
        entry = GGUF(name, None, path.name, None, path.stat().st_size, None, "MIT", draft="small")
        monkeypatch.setitem(catalog.FILES, name, entry)
    pair = catalog.Pair("default", catalog.FILES["big"], catalog.FILES["small"])
    monkeypatch.setattr(catalog, "DEFAULT", pair)
    bits = np.zeros(SIZE, np.uint8)
    bits[LISTED] = 1
    monkeypatch.setattr(slim_draft, "DEFAULT_TOKENS", bare_machine / "tokens")
    slim_draft.DEFAULT_TOKENS.write_bytes(packed(bits))


@pytest.fixture
def reports():
    """What was reported."""
    return []


def sentences(reports):
    return " ".join(each.warning for each in reports)


def test_it_is_made_once_keeps_what_the_list_says_and_is_the_targets_draft_from_then_on(
    pair, reports
):
    path = slim_draft.default_draft(reports.append)
    assert path is not None
    vocabulary, whole = read_vocabulary(path), read_vocabulary(path.with_name("small.gguf"))
    assert [vocabulary.text(i) for i in range(vocabulary.size)] == [whole.text(i) for i in LISTED]
    chosen = best_draft(identify("big"), discover())[0], own_draft(identify("big"))
    assert [draft and draft.path for draft in chosen] == [path, path]
    assert "Made a faster draft" in sentences(reports)
    assert path.with_name("small.gguf").exists()
    digest, stamp = checksum.sha256(path), path.stat().st_mtime_ns
    reports.clear()
    assert slim_draft.default_draft(reports.append) == path
    assert (path.stat().st_mtime_ns, reports) == (stamp, [])
    path.unlink()
    assert checksum.sha256(slim_draft.default_draft(reports.append) or path) == digest


def test_a_draft_that_was_measured_here_is_neither_replaced_nor_passed_over(pair, reports):
    assert (bundled := slim_draft.default_draft(reports.append))
    source = identify("small").path
    target = identify("big")
    own = slim_draft.make(source, np.arange(340), target_mark(target), read)
    assert own.stat().st_size > bundled.stat().st_size
    chosen = best_draft(target, discover())[0], own_draft(target)
    assert [draft and draft.path for draft in chosen] == [own, own]
    assert slim_draft.default_draft(reports.append) == own


def test_without_a_slim_draft_the_whole_one_serves_with_the_reason(pair, reports, monkeypatch):
    with monkeypatch.context() as patched:
        no_room = StorageError("There is no room.")
        patched.setattr(slim_draft, "require_space", Mock(side_effect=no_room))
        assert slim_draft.default_draft(reports.append) is None
    assert "There is no room. The draft is used as downloaded." in sentences(reports)
    with monkeypatch.context() as patched:
        patched.setattr(engines, "installed", list)
        assert slim_draft.default_draft(reports.append) is None
    assert "llama.cpp is not installed. Install it with: make" in sentences(reports)
    best, _ = best_draft(identify("big"), discover())
    assert (best and best.name) == "small"


def test_a_file_of_another_vocabulary_is_left_alone(pair, reports):
    slim_draft.DEFAULT_TOKENS.write_bytes(packed(np.ones(SIZE + 8, np.uint8)))
    assert slim_draft.default_draft(reports.append) is None
    assert "a different vocabulary" in sentences(reports)


def test_the_list_that_ships_is_one_of_the_default_vocabulary():
    ids, size = slim_draft.default_tokens()
    assert (len(ids), size) == (64_000, 151_936)


@pytest.mark.weights
def test_the_list_that_ships_lacks_nothing_indispensable(default_pair):
    vocabulary = read_vocabulary(default_pair[1])
    ids, size = slim_draft.default_tokens()
    assert size == vocabulary.size
    left = set(range(size)) - set(ids.tolist())
    assert all(vocabulary.kind(i) in (1, 5) and len(vocabulary.piece(i)) > 1 for i in left)
