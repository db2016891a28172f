"""The lines of a file: text, code, Markdown, tables, HTML, PDF, docx, notebooks and mail."""

import csv
import io
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from email import message_from_bytes, policy
from email.message import EmailMessage
from html import unescape
from itertools import zip_longest
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

from assistant.edit import text_file
from assistant.passages import words
from assistant.passages.splitting import MAX_LENGTH, Passage, TextLine, split
from assistant.session.attachments import DOCUMENTS as EXTRACTED
from assistant.streamed_text import PACKED
from models.errors import UsageError

TEXT_MB, DOCUMENT_MB, UNPACKED_MB = 8, 64, 32  # the largest text, document, and content of a docx
MAX_ROW = 50  # lines of a row of a CSV
csv.field_size_limit(TEXT_MB * 1_000_000)  # characters
SCANNED = "(This page is a picture; its text cannot be read.)"
_NOISE = re.compile("data:[^, ]{0,99};base64,[A-Za-z0-9+/=]+|\x1b\\[[\\d;?]*[A-Za-z]")  # no words
_TAG = re.compile(r"(?is)<(script|style|svg)\b.*?</\1\s*>|<!--.*?-->|<(?:h([1-6])|/?[a-z!])[^>]*>")
_PART, _END = "\x1e", "\x1f"  # marks before rows and headings, and for line ends within tables
# A hyphenation at the end of a line in a PDF; not the hyphen of AX-20.
_BROKEN = re.compile("(?<=[a-zß-ɏα-ωа-џ])\ufffe(?=[a-zß-ɏα-ωа-џ])")
_MARKUP = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ASIDE = re.compile(r"word/(?:(?:foot|end)notes|header\d*|footer\d*)\.xml")
_BOX, _PARAGRAPH = f"{_WORD}txbxContent", f"{_WORD}p"
_TEXTS = {f"{_WORD}t": "", f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}noBreakHyphen": "-"}


class UnsupportedFile(UsageError):
    """A file is left out; the message continues a sentence that begins with its name."""


def content(descriptor: int, kind: str) -> bytes:
    """Return the bytes of an open file, or raise UnsupportedFile; `kind` is its suffix."""
    before, max_mb = os.fstat(descriptor), DOCUMENT_MB if kind in DOCUMENTS else TEXT_MB
    if before.st_size > max_mb * 1_000_000:
        raise UnsupportedFile(f"is larger than {max_mb} MB")
    data = b""
    while part := os.read(descriptor, before.st_size + 1 - len(data)):
        data += part
    after = os.fstat(descriptor)
    if (len(data), before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise UnsupportedFile("changes while it is read")
    return data


def lines(data: bytes, kind: str) -> list[TextLine]:
    """Return the lines of a file, or raise UnsupportedFile."""
    result, size = list[TextLine](), 0
    try:
        for line in READERS.get(kind, _text)(data):
            text = plain(_NOISE.sub("", re.sub("\u00ad$", "-", line.text)))  # a hyphen shows there
            result.append(line._replace(text=text))
            size += len(text) * (text != SCANNED)
            if size > TEXT_MB * 1_000_000:
                raise UnsupportedFile(f"holds more than {TEXT_MB} MB of text")
    except Exception as error:  # each reader has many of its own
        is_locked = "password" in str(error) or (kind == ".docx" and data.startswith(PACKED[1]))
        why = "needs a password" if is_locked else f"is malformed: {error}"
        if isinstance(error, UsageError):
            why = str(error).partition(";")[0].removeprefix(". ")
        raise UnsupportedFile(why) from error
    if not size and kind in DOCUMENTS:
        raise UnsupportedFile("holds no text; it may be scanned")
    return result


def separator(name: str) -> str:
    """Return what separates the parts of an extracted text that have a number each."""
    return "\f" if name.lower().endswith(".pdf") else "\n"


def plain(text: str) -> str:
    """Return a text in composed letters, without carriage returns and invisible characters."""
    return unicodedata.normalize("NFC", text_file.END.sub("\n", text)).translate(words.PLAIN)


def passages(path: str, lines: Sequence[TextLine]) -> tuple[Iterator[Passage], str]:
    """Return the passages of a file with these lines, and its language."""
    kind, language = Path(path).suffix.lower(), "\n".join(line.text for line in lines[:1_000])
    titles, top = names(path, lines), ""
    if kind in TABLES:
        rows = [*_rows(lines)]
        top = header(rows)
        lines = [*_fitting(rows, top)]
        top = top if len(top) <= MAX_LENGTH // 2 else ""  # all rows are divided into cells
    return split(lines, kind in HEADED, titles, top), words.language(language)


def names(path: str, lines: Sequence[TextLine]) -> tuple[str, ...]:
    """Return the names of a document: its file name, and a first line that stands alone."""
    kind, text = Path(path).suffix.lower(), "\n".join(line.text for line in lines[:50])
    alone = "" if kind in HEADED else r"(?=[ \t]*\n|[=-]+\n)"
    title = re.match(rf"\s*(\S.{{0,79}})(?<![.!?])\n{alone}(?=\s*\S)", text)
    # The name of a code file without its suffix, such as users, is too common.
    stem = [Path(path).stem] if kind in ("", ".txt", *TABLES, *HEADED) else []
    return (os.path.basename(path), *stem, *(title.groups() if title else ()))


def header(lines: Sequence[TextLine]) -> str:
    """Return the header of a CSV: the first line with half as many separators as are usual."""
    texts = [line.text for line in lines[:1_000]]
    mark = _mark(texts)
    usual = sorted(text.count(mark) for text in texts)[len(texts) // 2]
    return next((text for text in texts if text.strip() and 2 * text.count(mark) >= usual), "")


def _mark(texts: Sequence[str]) -> str:
    """Return what separates the cells of a table."""
    return max("\t;,|", key=lambda mark: sum(mark in text for text in texts[:1_000]))


def _rows(lines: Sequence[TextLine]) -> Iterator[TextLine]:
    """Yield the rows of a CSV as lines: a line break within quotes becomes a space."""
    texts = [line.text for line in lines]
    reader, start = csv.reader((f"{text}\n" for text in texts), delimiter=_mark(texts)), 0
    for _ in reader:
        row = lines[start : reader.line_num]
        if len(row) > MAX_ROW:  # a quote that begins no quotation
            yield from row
        else:
            yield TextLine(row[0].number, " ".join(line.text for line in row))
        start = reader.line_num


def _fitting(rows: Sequence[TextLine], header: str) -> Iterator[TextLine]:
    """Yield rows; one too wide for a passage with the header cell by cell, with their columns."""
    mark, is_below = _mark([header]), False
    widest = MAX_LENGTH - len(header) if len(header) <= MAX_LENGTH // 2 else 0
    for number, row in rows:
        if not is_below or len(row) <= widest:
            yield TextLine(number, row)
        else:
            yield TextLine(number, "")
            columns, cells = csv.reader([header, row], delimiter=mark)
            for name, cell in zip_longest(columns, cells, fillvalue=""):
                for at in range(0, len(cell), MAX_LENGTH // 2):
                    yield TextLine(number, f"{name}: {cell[at : at + MAX_LENGTH // 2]}")
            yield TextLine(number, "")
        is_below = is_below or row == header


def _text(data: bytes) -> Iterator[TextLine]:
    yield from map(TextLine._make, enumerate(text_file.parse(Path(), data).text.split("\n"), 1))


def _html(data: bytes) -> Iterator[TextLine]:
    """Yield the lines of a page without its tags; a line of tags alone becomes empty."""

    def bare(tag: re.Match[str]) -> str:
        ends = "".join(re.findall(f"[\n{_END}]", tag[0]))
        ends += _PART if re.match("(?i)</?(?:h[1-6]|title)\\b", tag[0]) else ""
        return (ends or " ") + ("#" * int(tag[2]) + " " if tag[2] else "")

    number, text = 1, text_file.parse(Path(), data).text
    text = "".join(map(_in_rows, re.split(r"(?i)(?=</?table\b)", text)))
    for line in _TAG.sub(bare, text).split("\n"):
        for part in line.split(_PART):
            shown = " ".join(unescape(part).split())  # without ends, which are blank
            if shown or part == line:
                yield TextLine(number, shown)
            number += part.count(_END)
        number += 1


def _in_rows(table: str) -> str:
    """Return a table as Markdown if it has a header; other tables only serve the layout."""
    if not re.search(r"(?i)<th\b", table):
        return table
    above, *rows = re.split(r"(?i)(?=<tr\b)", table.replace("\n", _END))
    rows = [re.sub(r"(?i)(?=<t[hd]\b)", " | ", row) for row in rows]
    rows[1:1] = ["|---" * row.count(" | ") for row in rows[:1]]
    return _PART.join([above, *rows, ""])


def _pdf(data: bytes) -> Iterator[TextLine]:
    import pypdfium2  # native code, which few folders need

    with pypdfium2.PdfDocument(data) as document:
        for number, page in enumerate(document, 1):
            text = _BROKEN.sub("", page.get_textpage().get_text_range()).replace("\ufffe", "-")
            if not text.strip() and any(page.get_objects([pypdfium2.raw.FPDF_PAGEOBJ_IMAGE])):
                text = SCANNED
            yield from (TextLine(number, line) for line in (*text.splitlines(), ""))
            page.close()


def _docx(data: bytes) -> Iterator[TextLine]:
    """Yield the lines of a document, then others of its notes, headers and footers."""
    texts = list[str]()
    with ZipFile(io.BytesIO(data)) as archive:
        for name in ("word/document.xml", *filter(_ASIDE.fullmatch, archive.namelist())):
            xml = archive.open(name).read(UNPACKED_MB * 1_000_000 + 1)  # a small file can hold much
            if len(xml) > UNPACKED_MB * 1_000_000:
                raise UnsupportedFile(f"is larger than {UNPACKED_MB} MB when it is unpacked")
            root = ElementTree.fromstring(xml)
            for box in [*root.iter(f"{_MARKUP}AlternateContent")]:
                box[:] = box.findall(f"{_MARKUP}Choice")  # without its text for old programs
            lines, known = "\n".join(_blocks(root)).split("\n"), {*texts}
            texts += [line for line in lines if line not in known]
    yield from map(TextLine._make, enumerate(texts, 1))


def _blocks(parent: ElementTree.Element) -> Iterator[str]:
    """Yield paragraphs, the lines of text boxes, and tables as in Markdown."""
    for node in parent:
        rows = [row.findall(f"{_WORD}tc") for row in node.findall(f"{_WORD}tr")]
        if node.tag == _PARAGRAPH:
            styles = node.findall(f"{_WORD}pPr/{_WORD}pStyle")
            name = "".join(style.get(f"{_WORD}val", "") for style in styles)
            level = re.fullmatch("Title|Heading([1-6])", name)
            yield ("#" * int(level[1] or 1) + " " if level else "") + _inline(node, _BOX)
            yield from (line for box in node.iter(_BOX) for line in _blocks(box))
        elif len(rows) > 1 and max(map(len, rows)) > 1:  # else it is there for the layout
            lines = ["".join(f"| {_inline(cell)} " for cell in row) + "|" for row in rows]
            yield from (lines[0], "|---" * len(rows[0]) + "|", *lines[1:])
        else:
            yield from _blocks(node)


def _inline(parent: ElementTree.Element, without: str = "") -> str:
    """Return the text in an element, without elements of one name; that of a cell as a line."""
    text = ""
    for node in parent:
        if node.tag != without:
            text += node.text or _TEXTS[node.tag] if node.tag in _TEXTS else _inline(node, without)
            text += " " if node.tag == _PARAGRAPH else ""
    return " ".join(text.split()) if parent.tag == f"{_WORD}tc" else text


def _notebook(data: bytes) -> Iterator[TextLine]:
    """Yield the texts of cells, and what code has printed; pictures are left out."""
    for number, cell in enumerate(json.loads(data)["cells"], 1):
        fence = "```\n" if cell["cell_type"] == "code" else ""  # where # begins no heading
        for part in (cell, *cell.get("outputs", ())):
            shown = part.get("text") or part.get("data", {}).get("text/plain")
            error = [part.get("ename", ""), " ", part.get("evalue", "")]
            text = "".join(part.get("source") or shown or error)
            yield from (TextLine(number, line) for line in f"{fence}{text}\n{fence}".split("\n"))


def _mail(data: bytes) -> Iterator[TextLine]:
    message = message_from_bytes(data, policy=policy.default)
    yield from map(TextLine._make, enumerate(_letter(message), 1))


def _letter(message: EmailMessage) -> Iterator[str]:
    """Yield the subject of a message, its people, its texts, and the names of attached files."""
    yield f"# {message['Subject'] or ''}"
    yield from (f"{key}: {message[key]}" for key in ("From", "To", "Date") if message[key])
    parts = message.get_body(("plain", "html")), *message.iter_attachments()
    for part in (part for part in parts if part is not None):  # one without headers is false
        yield ""
        if part.get_content_type() == "message/rfc822":  # it was forwarded
            yield from _letter(part.get_content())
        elif name := part.get_filename():
            yield f"Attached: {name}"
        elif part.get_content_maintype() == "text":
            read = _html if part.get_content_subtype() == "html" else _text
            yield from (line.text for line in read(part.get_content().encode()))


READERS: dict[str, Callable[[bytes], Iterator[TextLine]]] = {
    ".html": _html, ".htm": _html, ".pdf": _pdf, ".docx": _docx, ".eml": _mail, ".ipynb": _notebook,
}  # fmt: skip
"""By the suffix of a file; all else is text."""
DOCUMENTS = (*EXTRACTED, ".ipynb")
HEADED = (".md", ".markdown", *READERS)
"""The kinds of files in which lines that begin with # are headings."""
TABLES = (".csv", ".tsv")
