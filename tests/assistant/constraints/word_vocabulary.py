"""A vocabulary of a few words, for tests of constraints and tool calls."""

import re
from functools import cached_property
from unittest.mock import patch

from assistant.constraints.constraints import Constraints
from assistant.constraints.grammar import tokenizer_of
from models.native.vocab import Vocab


class WordVocabulary(Vocab):
    """A vocabulary of these words, of all single bytes after them, of control tokens, and of a stop
    token at the end.

    It spells by the longest word at each place.
    """

    def __init__(self, *words: str, single: bool = True, controls: tuple[str, ...] = ()) -> None:
        bytes_ = [bytes([byte]) for byte in range(256)] if single else []
        spelt = [*(word.encode() for word in words), *bytes_]
        self.controls = {name: len(spelt) + i for i, name in enumerate(controls)}
        self.pieces = [*spelt, *(b"" for _ in controls), b""]
        self.size = len(self.pieces)
        self.stop = self.size - 1
        self.stop_tokens = frozenset({self.stop})

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token."""
        return self.pieces[token]

    def tokenize(self, text: str, special: bool = False) -> list[int]:
        """Return the tokens of a text."""
        data, tokens = text.encode(), list[int]()
        while data:
            fits = [i for i, piece in enumerate(self.pieces) if piece and data.startswith(piece)]
            tokens += sorted(fits, key=lambda i: len(self.pieces[i]))[-1:]
            data = data[len(self.pieces[tokens[-1]]) if fits else 1 :]
        return tokens

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text in which the names of control tokens are such tokens."""
        names = "|".join(map(re.escape, self.controls)) or "(?!)"
        parts = re.split(f"({names})", text)
        spelt = ([self.controls[p]] if p in self.controls else self.tokenize(p) for p in parts)
        return [token for tokens in spelt for token in tokens]

    def tokenizer(self):
        """Return what llguidance reads it with, which is tried with words that there are."""
        with patch("assistant.constraints.grammar.SAMPLE", self.pieces[0].decode()):
            return tokenizer_of(self, self.size)

    @cached_property
    def forms(self):
        """What compiles the forms of answers in these words."""
        with patch("assistant.constraints.grammar.SAMPLE", self.pieces[0].decode()):
            return Constraints(self, self.size)
