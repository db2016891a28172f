"""The lines of a file: text, code, Markdown, HTML, PDF or docx."""

import io
import os
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path, PurePath
from xml.etree import ElementTree
from zipfile import ZipFile

from assistant.edit import text_file
from assistant.passages.splitting import Line
from models.errors import UsageError

TEXT_MB, DOCUMENT_MB, UNPACKED_MB = 8, 64, 32
"""The largest text, document, and content of a docx that is read."""
DOCUMENTS = (".pdf", ".docx")
_TAGS = re.compile(r"(?is)<(script|style|svg)\b.*?</\1\s*>|<!--.*?-->|</?[a-z!][^>]*>")
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


class Unread(Exception):
    """A file is left out; the message says why, as the end of a sentence that begins with it."""


def is_headed(path: PurePath) -> bool:
    """Whether lines of a file that begin with # are headings."""
    return path.suffix.lower() in {".md", ".markdown", ".mdx", *_READERS}


def content(descriptor: int, path: PurePath) -> bytes:
    """Return the bytes of an open file.

    Raises:
        Unread: it is too large, no text, or changes meanwhile.
        OSError: it cannot be read.
    """
    before = os.fstat(descriptor)
    most = DOCUMENT_MB if path.suffix.lower() in DOCUMENTS else TEXT_MB
    if before.st_size > most * 1_000_000:
        raise Unread(f"is larger than {most} MB")
    data = b""
    while part := os.read(descriptor, before.st_size + 1 - len(data)):
        data += part
    after = os.fstat(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise Unread("changes while it is read")
    return data


def lines(data: bytes, path: PurePath) -> list[Line]:
    """Return the lines of a file.

    Raises:
        Unread: it holds no text, or too much.
        Exception: it is malformed, in any of the ways that its reader knows.
    """
    suffix = path.suffix.lower()
    found, size = list[Line](), 0
    for line in _READERS.get(suffix, _text)(data):
        found.append(line)
        size += len(line.text)
        if size > TEXT_MB * 1_000_000:
            raise Unread(f"holds more than {TEXT_MB} MB of text")
    if not size and suffix in DOCUMENTS:
        raise Unread("holds no text; is it scanned?")
    return found


def _text(data: bytes) -> Iterator[Line]:
    try:
        text = text_file.parse(Path(), data).text
    except UsageError as error:
        raise Unread("is no text") from error
    yield from map(Line._make, enumerate(text.split("\n"), 1))


def _html(data: bytes) -> Iterator[Line]:
    """Yield the lines of a page without its tags; a line that had nothing else is empty."""
    text = "\n".join(line.text for line in _text(data))
    text = re.sub(
        r"(?i)<h([1-6])\b[^>]*>\s*",
        lambda tag: "\n" * tag[0].count("\n") + "#" * int(tag[1]) + " ",
        text,
    )
    text = _TAGS.sub(lambda tag: "\n" * tag[0].count("\n") or " ", text)
    for number, line in enumerate(text.split("\n"), 1):
        yield Line(number, " ".join(unescape(line).split()))


def _pdf(data: bytes) -> Iterator[Line]:
    import pypdfium2  # native code, which few folders need

    with pypdfium2.PdfDocument(data) as document:
        for number, page in enumerate(document, 1):
            text = page.get_textpage().get_text_range().replace("\ufffe", "")  # of hyphenation
            yield from (Line(number, line) for line in text.splitlines())
            yield Line(number, "")
            page.close()


def _docx(data: bytes) -> Iterator[Line]:
    with ZipFile(io.BytesIO(data)) as archive, archive.open("word/document.xml") as file:
        xml = file.read(UNPACKED_MB * 1_000_000 + 1)  # a small file can hold very much
    if len(xml) > UNPACKED_MB * 1_000_000:
        raise Unread(f"is larger than {UNPACKED_MB} MB when it is unpacked")
    texts = {f"{_WORD}t": "", f"{_WORD}tab": "\t", f"{_WORD}br": "\n"}
    for number, paragraph in enumerate(ElementTree.fromstring(xml).iter(f"{_WORD}p"), 1):
        style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
        name = "" if style is None else style.get(f"{_WORD}val", "")
        level = int(name[-1]) if re.fullmatch(r"Heading[1-6]", name) else 0
        nodes = (node for node in paragraph.iter() if node.tag in texts)
        text = "".join(node.text or texts[node.tag] for node in nodes)
        yield Line(number, f"{'#' * level} {text}" if level else text)


_READERS: dict[str, Callable[[bytes], Iterator[Line]]] = {
    ".html": _html,
    ".htm": _html,
    ".xhtml": _html,
    ".pdf": _pdf,
    ".docx": _docx,
}
