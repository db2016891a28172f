"""PDF and docx files and notebooks, written by the tests."""

import io
import json
import re
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

_SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(*pages: str) -> bytes:
    """A PDF with these texts on its pages; a form feed begins a column, `[scan]` is a picture."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>"]
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects.append(f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>")
    objects.append("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    for at, text in enumerate(pages):
        drawn = ""
        if text == "[scan]":
            drawn, text = "q 9 0 0 9 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q ", ""
        for column, part in enumerate(text.split("\f")):
            lines = "".join(f"({line}) Tj T* " for line in part.split("\n"))
            drawn += f"BT /F1 12 Tf 14 TL {50 + 270 * column} 700 Td {lines}ET "
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {5 + 2 * at} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>"
        )
        objects.append(f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream")
    file, places = "%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(file))
        file += f"{number} 0 obj\n{each}\nendobj\n"
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    table = f"xref\n0 {size}\n0000000000 65535 f \n{rows}trailer<</Size {size}/Root 1 0 R>>"
    return f"{file}{table}\nstartxref\n{len(file)}\n%%EOF\n".encode()


def docx(text: str) -> bytes:
    """A docx: `! ` a title, `# ` headings, `|` rows of tables, `[box]` text boxes, `[note]`."""
    body, notes, row = "", "", re.compile(r"(?:<w:p>\|.*?\|</w:p>)+")
    styles = {"!": "Title", "#": "Heading1", "##": "Heading2"}
    for line in text.splitlines():
        mark, _, rest = line.partition(" ")
        if mark in styles:
            body += f'<w:p><w:pPr><w:pStyle w:val="{styles[mark]}"/></w:pPr>{_run(rest)}</w:p>'
        elif mark == "[note]":
            notes += f"<w:p>{_run(rest)}</w:p>"
        elif mark == "[box]":
            box = f"<w:txbxContent><w:p>{_run(rest)}</w:p></w:txbxContent>"
            body += (
                f"<w:p><w:r><m:AlternateContent><m:Choice>{box}</m:Choice>"
                f"<m:Fallback><w:pict>{box}</w:pict></m:Fallback></m:AlternateContent></w:r></w:p>"
            )
        else:
            body += f"<w:p>{line if mark == '|' else _run(line)}</w:p>"
    body = row.sub(lambda rows: f"<w:tbl>{_rows(rows[0])}</w:tbl>", body)
    return zipped(_document(body), _document(notes))


def _rows(rows: str) -> str:
    lines = re.findall(r"<w:p>\| (.*?) \|</w:p>", rows)
    cells = ["".join(f"<w:tc><w:p>{_run(c)}</w:p></w:tc>" for c in r.split(" | ")) for r in lines]
    return "".join(f"<w:tr>{row}</w:tr>" for row in cells)


_NEXT = "</w:r></w:p><w:p><w:r>"  # a paragraph


def _run(text: str) -> str:
    text = text.replace("\u2011", "</w:t><w:noBreakHyphen/><w:t>")
    text = text.replace("<br>", "</w:t><w:br/><w:t>").replace("¶", f"</w:t>{_NEXT}<w:t>")
    return f"<w:r><w:t>{text}</w:t></w:r>".replace("\u00ad", "</w:t><w:softHyphen/><w:t>")


def _document(body: str) -> bytes:
    space = (
        f'xmlns:w="{_SPACE}" xmlns:m="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    )
    return f"<w:document {space}><w:body>{body}</w:body></w:document>".encode()


def notebook(text: str) -> bytes:
    """A notebook: `@md` and `@code` begin cells, `@out`, `@error` and `@image` outputs."""
    cells = list[dict[str, Any]]()
    for part in text.split("@")[1:]:
        head, _, body = part.partition("\n")
        kind, _, rest = head.partition(" ")
        outputs = {
            "out": {"output_type": "execute_result", "data": {"text/plain": body}},
            "error": {"output_type": "error", "ename": rest, "evalue": "", "traceback": ["\x1b["]},
            "image": {"output_type": "display_data", "data": {"image/png": rest}},
        }
        if kind in outputs:
            cells[-1]["outputs"].append(outputs[kind])
        else:
            source = {"md": "markdown"}.get(kind, kind), body.splitlines(keepends=True)
            cells.append(dict(zip(("cell_type", "source"), source, strict=True)) | {"outputs": []})
    return json.dumps({"cells": cells, "nbformat": 4}).encode()


def zipped(document: bytes, notes: bytes = b"<none/>") -> bytes:
    """A zip archive with what a docx holds its text in."""
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("word/footnotes.xml", notes)
        archive.writestr("word/document.xml", document)
    return file.getvalue()
