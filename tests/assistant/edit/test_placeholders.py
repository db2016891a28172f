"""Placeholders such as `# rest unchanged` are found and named; deletions are none."""

import ast
import calendar
import configparser
import fnmatch
import shlex
import string
from pathlib import Path

import pytest

from assistant.edit.placeholders import left_out
from tests.assistant.edit.edits import edits, source


@pytest.mark.parametrize(("table", "are_left_out"), [("placeholders", True), ("deletions", False)])
def test_98_of_100_placeholders_are_fragments_and_98_of_100_deletions_are_none(table, are_left_out):
    rows = [*edits(table)]
    wrong = [row for row, old, new in rows if bool(left_out(old, new)) != are_left_out]
    assert len(rows) >= 200
    assert len(wrong) <= 4, wrong


@pytest.mark.parametrize("module", [calendar, configparser, fnmatch, shlex, string])
def test_functions_of_the_library_may_be_deleted_and_not_be_left_out(module):
    text = Path(module.__file__).read_text()
    old = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            above, below = old[: node.lineno - 1], old[node.end_lineno :]
            indent = " " * node.col_offset
            assert left_out(old, [*above, *below]) == ""
            if quoted := ast.get_docstring(node):
                first, last = node.body[0].lineno - 1, node.body[0].end_lineno
                short = f'{indent}    """{quoted.split(chr(10))[0]}"""'
                assert left_out(old, [*old[:first], short, *old[last:]]) == ""
            for mark in ("# other functions unchanged", "# ...", f"def {node.name}(): ..."):
                assert left_out(old, [*above, f"{indent}{mark}", *below]), (node.name, mark)


OLD = source("inventory.py")


@pytest.mark.parametrize(
    ("new", "gap"),
    [
        ([*OLD[:65], "    # ... rest ...", *OLD[80:]], "lines 66 to 80 are replaced by “#"),
        ([*OLD[:65], "... (15 more lines)", *OLD[80:]], "lines 66 to 80 are replaced by “..."),
        ([*OLD[:22], "    ...", "", *OLD[28:]], "lines 24 to 28 are replaced by “..."),
        ([*OLD[:72], "def total():", "# [code here]", *OLD[80:]], "lines 75 to 80 are"),
        ([*OLD[:11], "# as before", *OLD[12:]], "line 12 is replaced by “# as before”"),
        ([*OLD, "# ... rest of the file"], ""),
        ([*OLD[:65], "    # ... rest ...", *OLD[65:]], ""),
        ([*OLD[82:], "", "", "# the same, moved", *OLD[:80]], ""),
    ],
)
def test_the_lines_are_named_and_nothing_is_left_out_where_the_code_stands(new, gap):
    assert left_out(OLD, new).startswith(gap)
    assert bool(left_out(OLD, new)) == bool(gap)


@pytest.mark.parametrize(
    "line",
    ["    def f(self): ...", "    ...", "# ... existing ...", "call(...args)", "Point { ..rest }"],
)
def test_a_line_that_the_old_version_has_is_no_placeholder(line):
    assert left_out([*OLD, line, line], [*OLD[:11], *OLD[13:], line, line]) == ""
