"""Text that streams: tokens decoded one by one, and marks that a part of it may begin."""

import codecs
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType


class TokenText:
    """Decode tokens to text, a character with the last of its tokens.

    Everything that reads an answer uses this decoder, so that a marker ends at the same token for
    the screen, for forms and for budgets.

    Args:
        piece: returns the bytes of a token, none for a control token.
        names: texts for some control tokens, which have no bytes.
    """

    def __init__(
        self, piece: Callable[[int], bytes], names: Mapping[int, str] = MappingProxyType({})
    ) -> None:
        self._piece, self._names = piece, names

    def after(self, begun: bytes, token: int) -> tuple[str, bytes]:
        """Return the text that a token completes, and the bytes of a character that it leaves open.

        `begun` are the bytes that the tokens before it left open. Invalid UTF-8 becomes U+FFFD.
        """
        piece = self._piece(token)
        if not piece:
            return self._names.get(token, ""), begun
        text, used = codecs.utf_8_decode(begun + piece, "replace", False)
        return text, (begun + piece)[used:]

    def of(self, tokens: Iterable[int]) -> str:
        """Return the text of a sequence of tokens."""
        texts, begun = [], b""
        for token in tokens:
            text, begun = self.after(begun, token)
            texts.append(text)
        return "".join(texts) + ending(begun)


def ending(begun: bytes) -> str:
    """Return the replacement for a character that is never completed."""
    return begun.decode("utf-8", "replace")


def split(text: str, marks: Iterable[str]) -> tuple[str, str, str]:
    """Split a text at its first mark: return the text before it, the mark, and the text after it.

    If there is none, return all but the longest end that may begin a mark, "", and that end.
    """
    marks = [mark for mark in marks if mark]
    found = [(place, mark) for mark in marks if (place := text.find(mark)) >= 0]
    if found:
        place, mark = min(found)
        return text[:place], mark, text[place + len(mark) :]
    begin = min((_begins(text, mark) for mark in marks), default=len(text))
    return text[:begin], "", text[begin:]


def _begins(text: str, mark: str) -> int:
    """Return the index from which the rest of a text begins a mark; its length if there is none."""
    index = max(0, len(text) - len(mark) + 1)
    while (index := text.find(mark[0], index)) >= 0:
        if mark.startswith(text[index:]):
            return index
        index += 1
    return len(text)
