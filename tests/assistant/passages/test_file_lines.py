"""`file_lines`: the lines of each kind of file, with rows, text boxes and hyphens as meant."""

import pytest

from assistant.passages import file_lines
from tests.assistant.passages.papers import docx, notebook, pdf

MAIL = """Subject: =?utf-8?q?B=C3=BCcher?=
From: a@b.example
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/{}; charset=utf-8
Content-Transfer-Encoding: quoted-printable

{}
--x
Content-Type: image/png; name=a.png
Content-Transfer-Encoding: base64

aGVsbG8=
--x
Content-Type: message/rfc822

Subject: Old
--x--
"""
ABOVE, BELOW = ["# Bücher", "From: a@b.example"], ["Attached: a.png", "# Old"]


def texts(data, kind):
    data = data if isinstance(data, bytes) else data.encode()
    return [line.text for line in file_lines.lines(data, kind) if line.text.strip()]


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (pdf("Order AX-\n20 for the thermo-\nstat."), ".pdf", ["Order AX-20 for the thermostat."]),
        ("Ge\u00adsamt\u00ad\nkonzept, Cafe\u0301", ".txt", ["Gesamt-", "konzept, Café"]),
        ("HS\u201112 and HS\u201013", ".md", ["HS-12 and HS-13"]),
        ("a ![tree](data:image/png;base64,iVBORw0KGgo=) b", ".md", ["a ![tree]() b"]),
        ("\x1b[1;32minfo\x1b[0m started", ".log", ["info started"]),
        (docx("Part HS\u201112\n[note] Or 14.\n[box] Hot sur\u00adface"), ".docx",
         ["Part HS-12", "Hot surface", "Or 14."]),
        (docx("! Title\n# One\n| a | b |\n| 1 | two¶words |\nEnd"), ".docx",
         ["# Title", "# One", "| a | b |", "|---|---|", "| 1 | two words |", "End"]),
        (docx("| all of it |\n| is layout |"), ".docx", ["all of it", "is layout"]),
        ("<table><tr><td>a\n<td>layout</table>", ".html", ["a", "layout"]),
        ("<script>var a</script>\n<style>\n.x {}</style>a &amp; b<!-- <p>c</p>\n-->", ".html",
         ["a & b"]),
        ("<h1>Top</h1>x<table><tr><th>a<th>b<tr>\n<td>1\n<td>2</table>y", ".html",
         ["# Top", "x", "| a | b", "|---|---", "| 1 | 2", "y"]),
        (MAIL.format("plain", "caf=C3=A9 =\nhere"), ".eml", [*ABOVE, "café here", *BELOW]),
        (MAIL.format("html", "<p>caf&eacute;</p>"), ".eml", [*ABOVE, "café", *BELOW]),
        ("Content-Type: multipart/mixed; boundary=x\n\n--x\n\nbare\n--x\n\nmore\n--x--", ".eml",
         ["# ", "bare", "more"]),
        (notebook("@md\n# T\n@code\n# no heading\n@out\n4 rows\n@image aGVsbG8=\n@error KeyError"),
         ".ipynb", ["# T", "```", "# no heading", "```", "```", "4 rows", "```", "```", "```",
                    "```", "KeyError ", "```"]),
    ],
    ids=range(15),
)  # fmt: skip
def test_a_file_is_read_as_its_reader_sees_it(data, kind, expected):
    assert texts(data, kind) == expected


def test_a_document_with_more_text_than_can_be_searched_is_left_out():
    with pytest.raises(file_lines.UnsupportedFile, match="more than 8 MB"):
        file_lines.lines(b"word " * 1_700_000, ".html")


def test_lines_of_a_page_and_cells_of_a_notebook_have_their_numbers():
    page = "<table>\n<tr>\n<th\n>a</th>\n<tr>\n<td>1\n</table>\n<p>end"
    lines = [(line.number, line.text) for line in file_lines.lines(page.encode(), ".html")]
    assert [each for each in lines if each[1]] == [(2, "| a"), (5, "|---"), (5, "| 1"), (8, "end")]
    assert [*file_lines.lines(docx("One<br>line\ntwo"), ".docx")][2] == (3, "two")
    assert (2, "two") in file_lines.lines(pdf("one", "two"), ".pdf")
    cells = file_lines.lines(notebook("@md\na@md\nb"), ".ipynb")
    assert [(line.number, line.text) for line in cells if line.text] == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b;c\n1;2,5;x\n2;3,5;y", "a;b;c"),
        ("Account 7, 2026\n\na;b;c\n1;2,5;x\n2;3,5;y\n3;4,5;z", "a;b;c"),
        ('a,b\n"x, y",1\n"z, w",2', "a,b"), ("a\tb\n1, 2\t3", "a\tb"), ("a\n1\n2", "a"),
        ("\n \n", ""),
    ],
)  # fmt: skip
def test_the_header_of_a_table_is_its_first_line_with_columns(text, expected):
    assert file_lines.header(file_lines.lines(text.encode(), ".csv")) == expected


def rows_of(table):
    parts, _ = file_lines.passages("a.csv", file_lines.lines(table.encode(), ".csv"))
    return [row for part in parts for row in part.text.split("\n") if row]


def test_each_part_of_a_row_that_is_too_wide_has_the_name_of_its_column():
    rows = rows_of(f'Bank\n\nid,"the\nnotes",in\n1,"{"a,b" * 600}",7\n2,5",3"')
    assert [row[:8] for row in rows] == [
        "Bank", 'id,"the ', "id: 1", *["the note"] * 3, "in: 7", '2,5",3"'
    ]  # fmt: skip
    names = ",".join(f"column{number:03}" for number in range(120))
    assert [row[:14] for row in rows_of(f"{names}\n1,2")][-2:] == ["column000: 1", "column001: 2"]


def test_a_line_break_in_a_cell_ends_no_row_and_a_quote_that_is_never_closed_joins_none():
    assert rows_of('a,b\n1,"x\ny"\n2,z') == ["a,b", '1,"x y"', "2,z"]
    lines = ["a,b", '1,"x', *(f"{number},y" for number in range(90))]
    assert rows_of("\n".join(lines)) == lines


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a/packing.md", "# Packing list\n- tent", ["packing.md", "packing", "# Packing list"]),
        ("a.txt", "House rules\n\nNo shoes", ["a.txt", "a", "House rules"]),
        ("a.txt", "No shoes in\nthe hall", ["a.txt", "a"]),
        ("a.txt", "No shoes.\n\nNo pets.", ["a.txt", "a"]),
        ("users.py", "import os\nx = 1", ["users.py"]),
        ("a.md", "House rules\n", ["a.md", "a"]),
    ],
)
def test_a_document_is_called_by_its_file_and_its_title(name, text, expected):
    lines = file_lines.lines(text.encode(), f".{name.split('.')[1]}")
    assert [*file_lines.names(name, lines)] == expected
