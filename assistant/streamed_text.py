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

    def after(self, pending: bytes, token: int) -> tuple[str, bytes]:
        """Return the text that a token completes, and the bytes of a character that it leaves open.

        `pending` are the bytes that the tokens before it left open. Invalid UTF-8 becomes U+FFFD.
        """
        piece = self._piece(token)
        if not piece:
            return self._names.get(token, ""), pending
        text, used = codecs.utf_8_decode(pending + piece, "replace", False)
        return text, (pending + piece)[used:]

    def of(self, tokens: Iterable[int]) -> str:
        """Return the text of a sequence of tokens."""
        texts, pending = [], b""
        for token in tokens:
            text, pending = self.after(pending, token)
            texts.append(text)
        return "".join(texts) + ending(pending)


def ending(pending: bytes) -> str:
    """Return the replacement for a character that is never completed."""
    return pending.decode("utf-8", "replace")


def split(text: str, marks: Iterable[str]) -> tuple[str, str, str]:
    """Split a text at its first mark: return the text before it, the mark, and the text after it.

    If there is none, return all but the longest end that may begin a mark, "", and that end.
    """
    marks = [mark for mark in marks if mark]
    matches = [(index, mark) for mark in marks if (index := text.find(mark)) >= 0]
    if matches:
        index, mark = min(matches)
        return text[:index], mark, text[index + len(mark) :]
    end = min((_begins(text, mark) for mark in marks), default=len(text))
    return text[:end], "", text[end:]


def _begins(text: str, mark: str) -> int:
    """Return the index from which the rest of a text begins a mark; its length if there is none."""
    index = max(0, len(text) - len(mark) + 1)
    while (index := text.find(mark[0], index)) >= 0:
        if mark.startswith(text[index:]):
            return index
        index += 1
    return len(text)
