"""A part lands where it belongs, however the answer is indented and whatever it repeats."""

from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest

from assistant.edit import text_file
from assistant.edit.part import Part
from assistant.edit.rewrite import Rewrite
from assistant.events import Stop
from tests.assistant.edit.edits import edits


def width(line):
    return len(line) - len(line.lstrip())


def reindented(lines):
    """Return lines with four blanks for a tab, twice as many for two, half as many for four."""
    steps = {abs(width(a) - width(b)) for a, b in pairwise(lines)} - {0}
    step = min(steps, default=1)
    to = {1: 4, 2: 4, 4: 2}[step]
    return [" " * (width(line) * to // step) + line.lstrip() for line in lines]


def with_heads(lines, part, new):
    """Return a part between the heads and the ends of the blocks that it stands in."""
    above, below, level = list[str](), list[str](), width(lines[part.begin])
    for line in reversed(lines[: part.begin]):
        if line.strip() and width(line) < level and line.strip()[0] not in ")}]":
            above, level = [line, *above], width(line)
    for line in lines[part.end :]:
        if line.strip()[:1] in tuple(")}]") or line.strip() == "end":
            heads = {width(head) for head in above}
            below += [line] * (width(line) in heads and width(line) < width(lines[part.begin]))
    return [*above, *new, *below[: len(above)]]


MISTAKES = {
    "none": lambda lines, part, new: new,
    "lost": lambda lines, part, new: dedent("\n".join(new)).split("\n"),
    "first": lambda lines, part, new: [new[0].lstrip(), *new[1:]],
    "steps": lambda lines, part, new: reindented(new),
    "both": lambda lines, part, new: reindented(dedent("\n".join(new)).split("\n")),
    "whole": lambda lines, part, new: [*lines[: part.begin], *new, *lines[part.end :]],
    "heads": with_heads,
    "far": lambda lines, part, new: [f"    {line}" for line in new],
}
"""What models make of the lines of a part."""


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize(("row", "old", "new"), edits("parts"))
def test_a_part_lands_where_it_belongs(row, old, new, mistake):
    first, last = map(int, row.split("\t")[1].split("-"))
    part = Part(first - 1, last)
    right = new[part.begin : part.end + len(new) - len(old)]
    file = text_file.parse(Path(row.split("\t")[0]), "\n".join(old).encode())
    rewrite = Rewrite(file, part, "x")
    answer = "\n".join(MISTAKES[mistake](old, part, right))
    assert list(rewrite.new(answer)) == new
    assert rewrite.gap(answer, Stop.STOP_STRING) == ""
