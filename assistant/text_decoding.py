"""Bytes as text: one way for what is attached, edited, searched and read by tools."""

import codecs
import re
from typing import NamedTuple

BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
CONTROLS = re.compile(r"[\0-\b\x0e-\x1a\x1c-\x1f]")  # which no old encoding of a text has
OTHERS = ("windows-1252", "latin-1")
"""Encodings of text that is not UTF-8. The second takes any byte; the first is the usual one of
quotation marks, of bytes from 0x80 to 0x9f, which are control characters in the second."""


class DecodedText(NamedTuple):
    """A text, and with what it is encoded again to the same bytes."""

    text: str
    encoding: str
    bom: bytes


def decode(data: bytes, *, is_cut: bool = False) -> DecodedText | None:
    """Return bytes as text; None if they are not text. Of cut bytes, a cut character is left out.

    UTF-16 needs a byte order mark.
    """
    bom, encoding = next((each for each in BOMS if data.startswith(each[0])), (b"", "utf-8"))
    for name in (encoding, *_others(data)) if encoding == "utf-8" else (encoding,):
        try:
            text = codecs.getincrementaldecoder(name)().decode(data[len(bom) :], not is_cut)
        except UnicodeDecodeError:
            continue
        is_binary = "\0" in text or (name in OTHERS and CONTROLS.search(text))
        return None if is_binary else DecodedText(text, name, bom)
    return None


def _others(data: bytes) -> tuple[str, ...]:
    return OTHERS if re.search(b"[\x80-\x9f]", data) else OTHERS[1:]
