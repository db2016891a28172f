"""A rewritten part is put where it belongs, however its answer is indented."""

from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest

from assistant.edit import text_file
from assistant.edit.part import Part, find, split
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
    above, below, level = list[str](), list[str](), width(lines[part.start])
    for line in reversed(lines[: part.start]):
        if line.strip() and width(line) < level and line.strip()[0] not in ")}]":
            above, level = [line, *above], width(line)
    for line in lines[part.end :]:
        if line.strip()[:1] in tuple(")}]") or line.strip() == "end":
            heads = {width(head) for head in above}
            below += [line] * (width(line) in heads and width(line) < width(lines[part.start]))
    return [*above, *new, *below[: len(above)]]


MISTAKES = {
    "none": lambda lines, part, new: new,
    "lost": lambda lines, part, new: dedent("\n".join(new)).split("\n"),
    "first": lambda lines, part, new: [new[0].lstrip(), *new[1:]],
    "steps": lambda lines, part, new: reindented(new),
    "both": lambda lines, part, new: reindented(dedent("\n".join(new)).split("\n")),
    "whole": lambda lines, part, new: [*lines[: part.start], *new, *lines[part.end :]],
    "heads": with_heads,
    "far": lambda lines, part, new: [f"    {line}" for line in new],
}
"""What models make of the lines of a part."""


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize(("row", "old", "new"), edits("parts"))
def test_a_part_lands_where_it_belongs(row, old, new, mistake):
    first, last = map(int, row.split("\t")[1].split("-"))
    part = Part(first - 1, last)
    right = new[part.start : part.end + len(new) - len(old)]
    file = text_file.parse(Path(row.split("\t")[0]), "\n".join(old).encode())
    rewrite = Rewrite(file, part, "x")
    answer = "\n".join(MISTAKES[mistake](old, part, right))
    assert list(rewrite.new(answer)) == new
    assert rewrite.gap(answer, Stop.STOP_STRING) == ""


GO = 'package main\n\nimport "fmt"\n\nfunc main() {\n\tif true {\n\t\tfmt.Println(1)\n\t}\n\tf()\n}'
CART = "class Cart:\n\tdef add(self, n):\n\t\tself.n += n\n\n\tdef total(self):\n\t\treturn self.n"
JS = "class A {\n  constructor() {\n    this.n = 0;\n  }\n\n  get() {\n    return this.n;\n  }\n\n"
JS += "  add(n) {\n    this.n = this.n + n;\n  }\n}"
MAKE = "all: a\n\tcc -o all a\n\nclean:\n\trm all"
PLAIN = "def f(a):\n    b = a\n    return b"
TSV = "name\tage\nAda\t36\nBob\t7"
PEOPLE = "name\tage\nAda Lovelace\t36\nBob\t7"
FLAT = "name: ci\non: push"
LISTED = f"{FLAT}\nsteps:\n  - run: make\n    if: always()"
GNU = "int\nf (int a)\n{\n  if (a)\n    {\n      if (a > 1)\n\tg (a);\n    }\n  return a;\n}"
ONE = CART.replace("return self.n", "return 1")
EMPTY = JS.replace("    this.n = this.n + n;\n", "")


def spaced(text):
    return text.expandtabs(4)


@pytest.mark.parametrize(
    ("name", "old", "answer", "new"),
    [
        ("a.go:7", GO, GO.replace("1", "2"), GO.replace("1", "2")),
        ("a.go:6-8", GO, spaced(GO).replace("1", "2"), GO.replace("1", "2")),
        ("a.js:add", JS, JS.replace("= this.n +", "+="), JS.replace("= this.n +", "+=")),
        ("a.js:add", JS, f"{JS.partition('  get')[0]}  add(n) {{\n  }}\n}}", EMPTY),
        ("a.js:add", JS, "add(n) {\n}", EMPTY),
        ("a.py:total", CART, "def total(self):\n    return 1", ONE),
        ("a.py:total", CART, "def total(self):\n        return 1", ONE),
        ("a.py", CART, spaced(ONE).replace("  \n", "\n"), ONE),
        ("a.py", CART, spaced(CART), spaced(CART)),
        ("Makefile", MAKE, spaced(f"{MAKE}\n\nt:\n\ttest"), f"{MAKE}\n\nt:\n\ttest"),
        ("a.tsv", TSV, "name age\nAda 37\nBob    7\nEve 9", "name\tage\nAda\t37\nBob\t7\nEve\t9"),
        ("a.py:2", PLAIN, "    if a:\n        b = a",
         PLAIN.replace("b = a", "if a:\n        b = a")),
        ("a.py", PLAIN, "def f(a, c):\n  b = a\n  return b", PLAIN.replace("a)", "a, c)")),
        ("a.py:2-3", PLAIN, "try:\n    b = a\nfinally:\n    return b",
         "def f(a):\n    try:\n        b = a\n    finally:\n        return b"),
    ],
)  # fmt: skip
def test_an_answer_is_indented_as_its_place_is(name, old, answer, new):
    rewrite = rewriting(name, old)
    assert "\n".join(rewrite.new(answer)) == new
    assert rewrite.gap(answer, Stop.STOP_STRING) == ""


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("a.tsv", PEOPLE, PEOPLE.replace("36", "37")),
        ("a.tsv", PEOPLE, f"# people of today\n{PEOPLE}"),
        ("a.tsv:3", PEOPLE, PEOPLE.replace("Bob", "Bob of the Hill")),
        ("a.yaml", FLAT, LISTED),
        ("a.md", FLAT, f"{FLAT}\nand more  "),
        ("a.c", GNU, GNU.replace("\tg (a);", "\tg (a);\n      else\n\th (a);")),
        ("a.c:f", GNU, GNU.replace("\tg (a);", "\tg (a + 1);\n      else\n\th (a);")),
    ],
)
def test_an_answer_in_the_style_of_the_file_is_taken_byte_for_byte(name, old, new):
    rewrite = rewriting(name, old)
    lines, below = new.split("\n"), len(rewrite.file.lines) - rewrite.part.end
    answer = "\n".join(lines[rewrite.part.start : len(lines) - below])
    assert "\n".join(rewrite.new(answer)) == new


def test_who_asks_for_other_indentation_gets_it():
    wish = "Convert the tabs to spaces, and rename add"
    answer = spaced(CART).replace("add", "plus")
    assert "\n".join(rewriting("a.py", CART, wish).new(answer)) == answer


@pytest.mark.parametrize(
    ("name", "old", "answer", "line"),
    [
        ("a.go:6-8", GO, GO.replace('"fmt"', '"os"'), "5, “func main() {”"),
        ("a.js:add", JS, f"export {JS}", "2, “constructor() {”"),
    ],
)
def test_an_answer_with_lines_around_a_part_in_other_words_is_a_fragment(name, old, answer, line):
    assert f"repeats line {line}" in rewriting(name, old).gap(answer, Stop.STOP_STRING)


def rewriting(argument, text, wish="x"):
    path, named = split(argument)
    file = text_file.parse(path, text.encode())
    return Rewrite(file, find(file.lines, named, path), wish)
