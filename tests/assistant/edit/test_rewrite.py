"""A rewrite changes only the bytes of the changed lines, and reads an answer to its last fence."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assistant.edit import text_file
from assistant.edit.part import Part, find
from assistant.edit.rewrite import Rewrite
from assistant.events import Stop
from assistant.request import Message, Request

TEXTS = "|a|word more|\ttab|  two|     ```|```|```sh|````md|~~~|end  |\t|  |\f|x\fy|\v|\x1cz|"
SIGNS = "\u2028|\u2029q|\x85|\xa0w|}|'''|<file>|</file>|  \tmixed|\t  mixed|a\tb|c\td|{|  }|);"
ODD = f'{TEXTS}{SIGNS}|"""|    four'.split("|")
"""Lines that have been taken for something else."""


def answered(rewrite, lines):
    """Return what is left of lines that a model writes and ends as it was asked to."""
    request = rewrite.request(Request((Message("user", ""),)), rewrite.part)
    (stop,) = request.stop_strings
    begun = request.messages[-1].content
    assert begun.endswith("\n")
    return "\n".join([*lines, stop.lstrip("\n")]).partition(stop)[0]


@st.composite
def files(draw):
    """A file of odd lines with odd ends, a part of it, and the line of that which is to change."""
    lines = draw(st.lists(st.sampled_from(ODD), min_size=1, max_size=12))
    ends = draw(st.lists(st.sampled_from(["\n", "\r\n", "\r", "\n", "\n"]), min_size=len(lines)))
    if draw(st.booleans()):
        ends = [ends[0]] * len(lines)
    at = draw(st.integers(0, len(lines) - 1))
    lines[at] = lines[at] if lines[at].strip() else "blank"
    begin, end = draw(st.integers(0, at)), draw(st.integers(at + 1, len(lines)))
    last = draw(st.sampled_from(["", ends[len(lines) - 1]]))
    return lines, [*ends[: len(lines) - 1], last], at, draw(st.none() | st.just(Part(begin, end)))


@given(files(), st.sampled_from(["a.py", "a.md", "README", "a.tsv", "Makefile"]))
def test_only_the_bytes_of_the_changed_line_change(made, name):
    lines, ends, at, named = made

    def data():
        return "".join(line + end for line, end in zip(lines, ends, strict=True)).encode()

    file = text_file.parse(Path(name), data())
    assume(len(file.text.split("\n")) == len(lines) + bool(ends[-1]))  # no \r before a \n
    part = named or Part(0, len(file.lines))
    part = find(file.lines, f"{part.start + 1}-{min(part.end, len(file.lines))}", Path(name))
    rewrite = Rewrite(file, part, "x")
    blanks = lines[at][: len(lines[at]) - len(lines[at].lstrip(" \t"))]
    lines[at] = f"{blanks}é{lines[at][len(blanks) + 1 :]}"
    changed = [*file.lines]
    changed[at] = lines[at]
    answer = answered(rewrite, changed[slice(*part)])
    assert file.encode("\n".join(rewrite.new(answer))) == data()
    assert rewrite.gap(answer, Stop.STOP_STRING) == ""


@pytest.mark.parametrize(
    ("name", "text", "wish", "end"),
    [
        ("a.md", "a", "x", "</file>"), ("a.py", "a", "x", "```"), ("a.py", "```", "x", "</file>"),
        ("a.py", "a", "Begin with ```sh", "</file>"), ("a.md", "</file>", "x", "</file_>"),
    ],
)  # fmt: skip
def test_no_line_of_a_file_ends_its_block(name, text, wish, end):
    """And models end with three marks what begins with four."""
    rewrite = Rewrite(text_file.parse(Path(name), text.encode()), Part(0, 1), wish)
    assert rewrite.block[1] == end


FENCED = "```sh\ntool\n```\n\nend"
OPEN = "```sh\ntool\n\nend"


@pytest.mark.parametrize("text", [FENCED, OPEN, f"{FENCED}\n```", f"{OPEN}\n~~~"])
@pytest.mark.parametrize(
    "around", ["{}", "{}\n```", "{}\n```py>", "```py\n{}\n```", "{}\n</file>", "\n{}\n\n", "```py"]
)
def test_the_fences_that_models_write_around_a_file_are_no_part_of_it(text, around):
    text = f"A\n{text}"
    file = text_file.parse(Path("a.txt"), text.encode())
    rewrite = Rewrite(file, Part(0, len(file.lines)), "x")
    new = text.replace("tool", "TOOL")
    assert "\n".join(rewrite.new(around.format(new))) == (new if "{}" in around else "")
