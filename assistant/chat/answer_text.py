"""The text of a streaming answer: whole characters, and nothing that may begin a stop string."""

import codecs
from collections.abc import Callable, Sequence
from dataclasses import replace

from assistant.events import Token


class Detokenizer:
    """Turn pieces into text as it becomes complete.

    A character of several tokens appears with the last of them; bytes that are not UTF-8 become
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


class StopStrings:
    """Hold back tokens whose text may turn out to be the beginning of a stop string.

    Such a string ends an answer and is not a part of it.
    """

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = [string for string in strings if string]
        self._held: list[Token] = []

    def pass_on(self, token: Token) -> tuple[list[Token], bool]:
        """Take a token; return the tokens that are safe to show, and whether the answer is over."""
        self._held.append(token)
        text = "".join(held.text for held in self._held)
        found = [at for string in self._strings if (at := text.find(string)) >= 0]
        if found:
            return self._release(min(found), cut=True), True
        return self._release(len(text) - self._suspicious(text)), False

    def flush(self) -> list[Token]:
        """Return the text held back, when the answer ended for another reason."""
        held, self._held = self._held, []
        return held

    def _suspicious(self, text: str) -> int:
        """Return the length of the longest end of `text` that begins a stop string."""
        return max(
            (
                length
                for string in self._strings
                for length in range(1, min(len(string), len(text) + 1))
                if text.endswith(string[:length])
            ),
            default=0,
        )

    def _release(self, length: int, cut: bool = False) -> list[Token]:
        """Release the tokens that lie within the first `length` characters, the last one cut."""
        released: list[Token] = []
        while self._held and len(self._held[0].text) <= length:
            length -= len(self._held[0].text)
            released.append(self._held.pop(0))
        if cut and self._held and length:
            released.append(replace(self._held[0], text=self._held[0].text[:length]))
        return released
