"""PDF and docx files, made on the spot."""

import io
from zipfile import ZIP_DEFLATED, ZipFile

_SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>"]
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects.append(f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>")
    objects.append("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    for at, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET"
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


def docx(*paragraphs: tuple[str, str]) -> bytes:
    """A docx: paragraphs, each with the name of its style."""
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    return zipped(f'<w:document xmlns:w="{_SPACE}"><w:body>{body}</w:body></w:document>'.encode())


def zipped(document: bytes) -> bytes:
    """A zip archive with what a docx holds its text in."""
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", document)
    return file.getvalue()
