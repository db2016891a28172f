"""`vocabulary.mismatch`: whether two vocabularies are the same, padding aside."""

from types import SimpleNamespace

import pytest

from models.gguf.vocabulary import mismatch


def vocab(*texts: str, unused: tuple[int, ...] = ()):
    return SimpleNamespace(
        size=len(texts), text=texts.__getitem__, is_unused=lambda token: token in unused
    )


def test_equal_vocabularies_match():
    assert mismatch(vocab("a", "b"), vocab("a", "b")) is None


def test_the_first_token_that_differs_is_named_with_both_texts():
    reason = mismatch(vocab("a", "b", "c"), vocab("a", "x", "y"))
    assert reason is not None
    for part in ("token 1", "'b'", "'x'"):
        assert part in reason


@pytest.mark.parametrize("swap", [False, True])
def test_padding_at_the_end_of_either_is_tolerated(swap):
    long, short = vocab("a", "b", "[PAD2]", "[PAD3]", unused=(2, 3)), vocab("a", "b")
    assert mismatch(*((short, long) if swap else (long, short))) is None


@pytest.mark.parametrize("role", ["target", "draft"])
def test_a_real_token_that_only_one_has_is_named(role):
    long, short = vocab("a", "b", "c"), vocab("a", "b")
    reason = mismatch(*((long, short) if role == "target" else (short, long)))
    assert reason is not None
    assert "token 2" in reason
    assert role in reason


def test_padding_beside_a_real_token_of_the_same_number_is_tolerated():
    assert mismatch(vocab("a", "[PAD1]", unused=(1,)), vocab("a", "<think>")) is None
