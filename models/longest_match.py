"""Text as the tokens of a vocabulary, by the longest at each place: no tokenizer's own rules."""

from collections.abc import Iterator

from models.gguf import FileVocabulary
from models.gguf.vocabulary import BYTE


class Spelling:
    """The tokens of a vocabulary by their bytes; for bytes that several have, the first of them."""

    def __init__(self, vocabulary: FileVocabulary) -> None:
        self.numbers: dict[bytes, int] = {}
        self.controls: dict[bytes, int] = {}
        bytes_: dict[bytes, int] = {}  # which SentencePiece has besides the characters
        for token in range(vocabulary.size):
            if vocabulary.is_unused(token):
                continue
            tokens = self.numbers if vocabulary.has_text(token) else self.controls
            tokens = bytes_ if vocabulary.kind(token) == BYTE else tokens
            tokens.setdefault(vocabulary.piece(token), token)
        self.numbers = bytes_ | self.numbers
        self._longest = max(map(len, self.numbers), default=0)

    def spell(self, text: bytes) -> Iterator[int]:
        """Yield tokens that make up `text`; a byte that no token has is left out."""
        start = 0
        while start < len(text):
            ends = range(min(len(text), start + self._longest), start, -1)
            end = next((end for end in ends if text[start:end] in self.numbers), None)
            if end is not None:
                yield self.numbers[text[start:end]]
            start = end or start + 1
