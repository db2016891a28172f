"""Vocabularies of a few words, for forms."""

from unittest.mock import patch

from assistant.forms.tokenizer import tokenizer_of


class Words:
    """A vocabulary of these words, of all single bytes after them, and of a stop token at the end.

    It spells by the longest word at each place.
    """

    def __init__(self, *words: str, single: bool = True) -> None:
        bytes_ = [bytes([byte]) for byte in range(256)] if single else []
        self.pieces = [*(word.encode() for word in words), *bytes_, b""]
        self.size = len(self.pieces)
        self.stop = self.size - 1
        self.stop_tokens = frozenset({self.stop})

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token."""
        return self.pieces[token]

    def tokenize(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        data, tokens = text.encode(), list[int]()
        while data:
            fits = [i for i, piece in enumerate(self.pieces) if piece and data.startswith(piece)]
            tokens += sorted(fits, key=lambda i: len(self.pieces[i]))[-1:]
            data = data[len(self.pieces[tokens[-1]]) if fits else 1 :]
        return tokens

    def tokenizer(self):
        """Return what llguidance reads it with, which is tried with words that there are."""
        with patch("assistant.forms.tokenizer.SAMPLE", self.pieces[0].decode()):
            return tokenizer_of(self, self.size)
