"""Text to tokens and back, byte for byte, on tiny and real vocabularies."""

import random

import pytest

from models.errors import UsageError
from models.native.vocab import Vocab
from tests import tiny


def spoken(vocab: Vocab, tokens) -> bytes:
    return b"".join(map(vocab.piece, tokens))


TEXTS = (
    "", " ", "\n\n\t x", "hello world", "é😀漢字\u202e\x00\x1b[0m", "a" * 3000, "<|im_end|></s>",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=repr)
def test_a_text_inside_another_has_no_blank_of_sentencepiece(open_model, tmp_path, text):
    path = tiny.write(tmp_path / "sentencepiece.gguf", sentencepiece=True)
    vocab = open_model(path).weights.vocab
    assert spoken(vocab, vocab.tokenize("x")) == b" x"
    assert spoken(vocab, vocab.tokenize_inside(text)) == text.encode()


def test_a_text_that_the_tokens_cannot_spell_is_refused(open_model, tmp_path):
    merged = tuple(f"{before}x" for before in "▁\n☺")
    path = tiny.write(tmp_path / "merges.gguf", sentencepiece=True, words=("☺", "\n", *merged))
    vocab = open_model(path).weights.vocab
    with pytest.raises(UsageError, match="spell"):
        vocab.tokenize_inside("x")


@pytest.mark.weights
def test_text_survives_the_tokens_of_real_vocabularies(real_vocab):
    for text in TEXTS:
        tokens = real_vocab.tokenize(text)
        assert spoken(real_vocab, tokens).decode().removeprefix(" ") == text.removeprefix(" ")
        assert not {*real_vocab.controls.values()} & {*tokens}


@pytest.mark.weights
def test_stop_tokens_are_control_tokens_that_end_turns(real_vocab):
    assert real_vocab.stop_tokens
    assert real_vocab.stop_tokens <= {*real_vocab.controls.values()}
    names = {real_vocab.text(token) for token in real_vocab.stop_tokens}
    assert names & {"<|im_end|>", "<end_of_turn>", "<eos>"}
    assert not any("fim" in name or "repo" in name for name in names)


def test_any_text_survives_its_tokens_and_no_bytes_stop_the_process(tiny_vocab):
    rng, texts = random.Random(5), [*TEXTS]
    for _ in range(2000):
        data = rng.randbytes(rng.randrange(40))
        texts += [data.decode("utf-8", rng.choice(("replace", "surrogateescape", "ignore")))]
    for text in texts:
        assert spoken(tiny_vocab, tiny_vocab.tokenize(text)) == text.encode("utf-8", "replace")


def test_a_control_token_has_a_name_and_no_bytes(tiny_vocab):
    assert tiny_vocab.controls == {name: 256 + i for i, name in enumerate(tiny.CONTROLS)}
    for name, token in tiny_vocab.controls.items():
        assert (tiny_vocab.text(token), tiny_vocab.piece(token)) == (name, b"")


@pytest.mark.parametrize("token", [-1, 259, 10**6, 2**31 - 1])
def test_a_token_that_does_not_exist_has_no_bytes_and_no_name(tiny_vocab, token):
    assert tiny_vocab.piece(token) == b""
    with pytest.raises(ValueError, match=f"258: {token}"):
        tiny_vocab.text(token)


def test_a_file_without_a_template_has_none(open_model, tmp_path):
    """llama.cpp has a name for that of Mistral Small, which is no Jinja template."""
    path = tiny.write(tmp_path / "m.gguf", pre="tekken", layers=40, template=None)
    assert open_model(path).weights.vocab.template is None


def test_pieces_longer_than_any_buffer_are_whole(open_model, tmp_path):
    model = open_model(tiny.write(tmp_path / "m.gguf", words=("x" * 300,)))
    assert model.weights.vocab.piece(259) == b"x" * 300
