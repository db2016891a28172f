"""Tokens to text, one at a time."""

import codecs
from collections.abc import Callable


class Detokenizer:
    """Turn pieces into text as it becomes complete.

    A character of several tokens appears with the last of them; bytes that are no UTF-8 become
    U+FFFD.
    """

    def __init__(self, piece: Callable[[int], bytes]) -> None:
        self._piece = piece
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def decode(self, token: int) -> str:
        """Return the text that `token` completes."""
        return self._decoder.decode(self._piece(token))

    def flush(self) -> str:
        """Return what stands for an incomplete character at the end."""
        return self._decoder.decode(b"", final=True)
