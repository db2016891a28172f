"""Bytes and tokens as text: streamed tokens, markers in them, and files of any encoding."""

import codecs
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from models.errors import UsageError

_SURROGATES = re.compile(  # pairs, and escapes of anything else, are kept
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?!u[dD][89a-fA-F]).)"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}",
    re.DOTALL,
)


class TokenText:
    """Decodes tokens to text; a character comes with the last of its tokens.

    Everything that reads an answer uses this decoder, so that a marker ends at the same token for
    the screen, for constraints and for budgets. `piece` returns the bytes of a token, none for a
    control token; some of these have `names`.
    """

    def __init__(
        self, piece: Callable[[int], bytes], names: Mapping[int, str] = MappingProxyType({})
    ) -> None:
        self._piece, self._names = piece, names

    def after(self, pending: bytes, token: int) -> tuple[str, bytes]:
        """Return the text that a token completes, and the bytes of an incomplete character.

        `pending` are those of the tokens before it. Invalid UTF-8 becomes U+FFFD.
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
        return "".join(texts) + pending.decode("utf-8", "replace")


def without_lone_surrogates(body: str | bytes) -> bytes:
    """Return a JSON text with U+FFFD for halves of characters, as of an emoji that was cut."""
    body = body if isinstance(body, bytes) else body.encode("utf-8", "replace")
    return _SURROGATES.sub(lambda match: match[1] or rb"\ufffd", body)


def split_at_mark(text: str, marks: Iterable[str]) -> tuple[str, str, str]:
    """Split a text at its first mark: return the text before it, the mark, and the text after it.

    Without a mark, return the text, "", and the longest suffix of it that may begin a mark.
    """
    marks = [mark for mark in marks if mark]
    matches = [(index, mark) for mark in marks if (index := text.find(mark)) >= 0]
    if matches:
        index, mark = min(matches)
        return text[:index], mark, text[index + len(mark) :]
    start = min((_partial_mark(text, mark) for mark in marks), default=len(text))
    return text[:start], "", text[start:]


def _partial_mark(text: str, mark: str) -> int:
    """Return the index of a suffix of a text that begins a mark; the text's length if none does."""
    starts = range(max(0, len(text) - len(mark) + 1), len(text))
    return next((index for index in starts if mark.startswith(text[index:])), len(text))


BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
CONTROLS = re.compile(r"[\0-\b\x0e-\x1a\x1c-\x1f]")  # which no old encoding of a text has
NO_TEXT = re.compile(  # or ISO-2022, HZ and UTF-7, of which all characters are ASCII
    r"\0|\x1b\$[()]?[@-D]|~\{(?:[!-w][!-}]){2,}~\}|(?<=[a-z])\+A(?!PI)[M-Z][AEIMQUYcgkosw048]-"
)
ASCII = re.compile(r"[\0-\x7f]+")
PACKED = (b"PK\3\4", b"\xd0\xcf\x11\xe0", rb"{\rtf")  # how archives and office files begin
WORDS = re.compile(r"[^\0-@[-`{-\x7f\x85\xa0¥¦©-®°-²´µ·º»½×‘’–—…•™€]+")
"""Words with the signs in them, without those that code and lists have there."""
WESTERN = re.compile(Path(__file__).with_name("western_words.txt").read_text("utf-8"), re.X | re.I)
"""A word whose letters one language of Western Europe has, with signs around it."""
UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
"""A character of a script without spaces between words, as a regular expression."""


class EncodedText(NamedTuple):
    """A text, and what is needed to encode it to the same bytes."""

    text: str
    encoding: str  # utf-8, utf-16-le, utf-16-be, windows-1252 or latin-1
    bom: bytes


def decode(data: bytes, name: str, *, is_cut: bool = False) -> EncodedText:
    """Return the text of the file `name`; an incomplete character of cut data is dropped.

    UsageError if it is not text in an encoding that is known; UTF-16 needs a byte order mark.
    """
    bom, encoding = next((entry for entry in BOMS if data.startswith(entry[0])), (b"", "utf-8"))
    encodings, why = [encoding], "in a known encoding; only text can be used, best UTF-8"
    replaced = data.decode("utf-8", "replace")
    if data.startswith(PACKED):
        encodings, why = [], "but an office file or an archive; save what it holds as text or PDF"
    elif encoding == "utf-8" and len(ASCII.sub("", replaced)) > 2 * replaced.count("\ufffd") > 0:
        line = replaced.partition("\ufffd")[0].count("\n") + 1
        why = f"in UTF-8: line {line} has bytes that are no character; replace these"
    elif encoding == "utf-8":  # quotation marks are what Windows has from 0x80 to 0x9f
        encodings += (["windows-1252"] if re.search(b"[\x80-\x9f]", data) else []) + ["latin-1"]
    for encoding in encodings:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(data[len(bom) :], not is_cut)
        except UnicodeDecodeError:
            continue
        if not NO_TEXT.search(text) and (encoding.startswith("utf") or _is_western(text)):
            return EncodedText(text, encoding, bom)
        break  # a text in Windows-1252 is none in Latin-1, which has controls for its signs
    raise UsageError(f"{name} is not text {why}.")


def _is_western(text: str) -> bool:
    """Return whether a text may be in Latin-1 or Windows-1252, in which it was decoded.

    It is not if words have letters that no Western language has together, unless the text is only
    damaged in a few places.
    """
    foreign = sum(not (word.isascii() or WESTERN.fullmatch(word)) for word in WORDS.findall(text))
    accented, letters = len(ASCII.sub("", text)), len(re.sub("[^A-Za-z]+", "", text))
    is_known = foreign <= accented / 100 or accented < letters / 1000
    return is_known and not CONTROLS.search(text)
