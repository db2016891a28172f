"""The lines of a file: text, code, Markdown, HTML, PDF or docx."""

import io
import os
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

from assistant.edit import text_file
from assistant.passages.splitting import TextLine
from models.errors import UsageError

TEXT_MB, DOCUMENT_MB, UNPACKED_MB = 8, 64, 32
"""The largest text, file of a document, and content of a docx that is read."""
_TAG = re.compile(r"(?is)<(script|style|svg)\b.*?</\1\s*>|<!--.*?-->|<(?:h([1-6])|/?[a-z!])[^>]*>")
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


class Unread(Exception):
    """A file is left out; the message says why, as the end of a sentence that begins with it."""


def content(descriptor: int, kind: str) -> bytes:
    """Return the bytes of an open file, or raise Unread; `kind` is its suffix in small letters."""
    before, most = os.fstat(descriptor), DOCUMENT_MB if kind in DOCUMENTS else TEXT_MB
    if before.st_size > most * 1_000_000:
        raise Unread(f"is larger than {most} MB")
    data = b""
    while part := os.read(descriptor, before.st_size + 1 - len(data)):
        data += part
    after = os.fstat(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise Unread("changes while it is read")
    return data


def lines(data: bytes, kind: str) -> list[TextLine]:
    """Return the lines of a file, or raise Unread."""
    found, size = list[TextLine](), 0
    try:
        for line in READERS.get(kind, _text)(data):
            found.append(line)
            size += len(line.text)
            if size > TEXT_MB * 1_000_000:
                raise Unread(f"holds more than {TEXT_MB} MB of text")
    except UsageError:
        raise Unread("is not text") from None
    except Unread:
        raise
    except Exception as error:  # each reader has many of its own
        raise Unread(f"is malformed: {error}") from error
    if not size and kind in DOCUMENTS:
        raise Unread("holds no text; it may be scanned")
    return found


def _text(data: bytes) -> Iterator[TextLine]:
    yield from map(TextLine._make, enumerate(text_file.parse(Path(), data).text.split("\n"), 1))


def _html(data: bytes) -> Iterator[TextLine]:
    """Yield the lines of a page without its tags; those that held nothing else are empty."""

    def bare(tag: re.Match[str]) -> str:
        return ("\n" * tag[0].count("\n") or " ") + ("#" * int(tag[2]) + " " if tag[2] else "")

    text = _TAG.sub(bare, text_file.parse(Path(), data).text)
    for number, line in enumerate(text.split("\n"), 1):
        yield TextLine(number, " ".join(unescape(line).split()))


def _pdf(data: bytes) -> Iterator[TextLine]:
    import pypdfium2  # native code, which few folders need

    with pypdfium2.PdfDocument(data) as document:
        for number, page in enumerate(document, 1):
            text = page.get_textpage().get_text_range().replace("\ufffe", "")  # of hyphenation
            yield from (TextLine(number, line) for line in (*text.splitlines(), ""))
            page.close()


def _docx(data: bytes) -> Iterator[TextLine]:
    with ZipFile(io.BytesIO(data)) as archive, archive.open("word/document.xml") as file:
        xml = file.read(UNPACKED_MB * 1_000_000 + 1)  # a small file can hold very much
    if len(xml) > UNPACKED_MB * 1_000_000:
        raise Unread(f"is larger than {UNPACKED_MB} MB when it is unpacked")
    texts = {f"{_WORD}t": "", f"{_WORD}tab": "\t", f"{_WORD}br": "\n"}
    for number, paragraph in enumerate(ElementTree.fromstring(xml).iter(f"{_WORD}p"), 1):
        style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
        level = re.fullmatch(
            "Heading([1-6])", "" if style is None else style.get(f"{_WORD}val", "")
        )
        nodes = (node for node in paragraph.iter() if node.tag in texts)
        text = "".join(node.text or texts[node.tag] for node in nodes)
        yield TextLine(number, "#" * int(level[1]) + f" {text}" if level else text)


READERS: dict[str, Callable[[bytes], Iterator[TextLine]]] = {
    ".html": _html, ".htm": _html, ".pdf": _pdf, ".docx": _docx,
}  # fmt: skip
"""By the suffix of a file; all else is text."""
DOCUMENTS = (".pdf", ".docx")
HEADED = (".md", ".markdown", *READERS)
"""The kinds of files in which lines that begin with # are headings."""
