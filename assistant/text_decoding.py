"""Bytes as text: one way for what is attached, edited, searched and read by tools."""

import codecs
import re
from typing import NamedTuple

from models.errors import UsageError

BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
CONTROLS = re.compile(r"[\0-\b\x0e-\x1a\x1c-\x1f]")  # which no old encoding of a text has

UNSPACED = "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
"""A character of a script without spaces between words, as a regular expression."""


class EncodedText(NamedTuple):
    """A text, and with what it is encoded again to the same bytes."""

    text: str
    encoding: str  # utf-8, utf-16-le, utf-16-be, windows-1252 or latin-1
    bom: bytes


def decode(data: bytes, name: str, *, is_cut: bool = False) -> EncodedText:
    """Return the text of `name`; of cut data, a character that is cut is left out.

    Raises:
        UsageError: it is not text; UTF-16 needs a byte order mark.
    """
    bom, encoding = next((pair for pair in BOMS if data.startswith(pair[0])), (b"", "utf-8"))
    encodings = [encoding]
    if encoding == "utf-8":  # quotation marks are what Windows has from 0x80 to 0x9f
        encodings += ["windows-1252"] * bool(re.search(b"[\x80-\x9f]", data)) + ["latin-1"]
    for encoding in encodings:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(data[len(bom) :], not is_cut)
        except UnicodeDecodeError:
            continue
        if "\0" not in text and (encoding.startswith("utf") or not CONTROLS.search(text)):
            return EncodedText(text, encoding, bom)
    raise UsageError(f"{name} is not text; only text can be used.")
