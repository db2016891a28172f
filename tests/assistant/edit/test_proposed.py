"""`proposals` finds the files in an answer: new versions of attached ones, and new ones."""

from pathlib import Path
from textwrap import indent

import pytest

from assistant.edit.proposals import proposals
from assistant.store.values import Attachment, StoredMessage
from tests.assistant.edit.edits import proposed

CODE = "def one():\n    return 1\n\n\ndef two():\n    return 2"
PROSE = "# Title\n\nFirst.\n\n```sh\nmake\n```\n\nLast.\nEnd.\nReally."
PATCH = CODE.replace("\n", "\n ").replace("     return 2", "-    return 2\n+    return 3")
BARE = PROSE.replace("sh\n", "\n")
NAMED = Path(__file__).with_name("named.txt")
"""The file, with ? if it may be a fragment, or nothing; and an answer, in which ⏎ is a new line."""
FILES = [Attachment("code.py", CODE), Attachment("notes.md", PROSE), Attachment("no.py", "\n")]
ALIKE = enumerate(("a/b.css", "b.css", "a/my b.css", "a/c.css", "b/c.css", "a b/e.css"), 1)
FILES += [Attachment(name, f"p\nq\n{n}\n{n}a\n{n}b") for n, name in ALIKE]


@pytest.mark.parametrize(
    ("answer", "name", "text"),
    [
        (f"So:\n```python\n{CODE}  # new\n```", "code.py", f"{CODE}  # new\n"),
        (f"```\n{CODE}\n\n# a\n```\nand\n```\nmake\n```", "code.py", f"{CODE}\n\n# a\n"),
        (f"````md\n{PROSE}\nMore.\n````", "notes.md", f"{PROSE}\nMore.\n"),
        (f"```md\n{PROSE}\nMore.\n```\nRun\n```\nmake\n```", "notes.md", f"{PROSE}\nMore.\n"),
        (f"```md\n{BARE}\n```", "notes.md", f"{BARE}\n"),
        (f"~~~\n{BARE}\n~~~\nIt was\n~~~\n{PROSE}\n~~~", "notes.md", f"{BARE}\n"),
        (f"```py\n{CODE}#\n```".replace("\n", "\r\n"), "code.py", f"{CODE}#\n"),
        (indent(f"1. So\n```py\n{CODE}#\n```", "   "), "code.py", f"{CODE}#\n"),
        (f"1. So:\n   ```py\n{CODE}#\n   ```", "code.py", f"{CODE}#\n"),
        ("`no.py`:\n```\nx\n```", "no.py", "x\n"),
        (f"**notes.md**\n```\n{PROSE[:43]}\n```", "notes.md", f"{PROSE[:43]}\n"),
        ("**b.css**\n```\np\nq\n2\n2a\n```", "b.css", "p\nq\n2\n2a\n"),
        ("**c.css**\n```\np\nq\n5\n5a\n```", "b/c.css", "p\nq\n5\n5a\n"),
        ("**my b.css**\n```\np\nq\n3\n3a\n```", "a/my b.css", "p\nq\n3\n3a\n"),
        ("**a b/e.css**\n```\np\nq\n6\n6a\n```", "a b/e.css", "p\nq\n6\n6a\n"),
    ],
)
def test_a_new_version_is_found_in_an_answer(answer, name, text):
    (version,) = proposed(answer, *FILES)
    assert (version.name, version.text, version.gap) == (name, text, "")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        CODE,
        "```\ndef three():\n    return 3\n```",
        f"```\n{CODE}\n```",
        f"```\n{CODE} # cut",
        f"```md\n{PROSE[:-5]}",
        f"```md\n{PROSE[:15]}\n```\nand\n```md\n{PROSE[17:-20]}\n```",
        f"```diff\n@@ -1,6 +1,6 @@\n {PATCH}\n```",
    ],
)
def test_an_answer_without_a_new_version_proposes_none(answer):
    assert proposed(answer, *FILES) == []


def test_attached_files_are_not_read_for_an_answer_without_a_block():
    answer = StoredMessage(2, 1, "assistant", CODE, 0.0, "complete")
    assert proposals(answer, map(pytest.fail, ["read"])) == []


def test_the_version_that_was_attached_last_counts():
    newer = Attachment("code.py", f"{CODE}  # new")
    assert proposed(f"```\n{CODE}  # new\n```", *FILES, newer) == []


def test_lines_that_are_left_out_are_named():
    (version,) = proposed(f"```\n{CODE[:25]}\n# ... rest of the file\n```", *FILES)
    assert version.gap == "lines 5 to 6 are replaced by “# ... rest of the file”"


def test_a_line_that_is_kept_stays_as_it_is_however_it_is_indented():
    old = "class A:\n\tdef f(self):\n\t\treturn 1\n"
    answer = "```\nclass A:\n    def f(self):\n        return 2\n```"
    (version,) = proposed(answer, Attachment("a.py", old))
    assert version.text == old.replace("1", "2")


def test_a_passage_of_a_file_is_no_file_and_a_document_has_no_text_of_its_own() -> None:
    passage, searched = Attachment("code.py", CODE, 1, 10, 16), Attachment("code.py", CODE)
    attachments = passage, searched.by_passages, Attachment("code.PDF", CODE)
    assert proposed(f"```\n{CODE}\n# new\n```", *attachments) == []


@pytest.mark.parametrize("row", NAMED.read_text().split("\n")[:-1])
def test_a_file_is_found_that_an_answer_names_and_does_not_only_use(row):
    name, _, answer = row.partition("\t")
    new = proposed(answer.replace("⏎", "\n"), *FILES)
    found = [(f"{file.name}{'?' * bool(file.gap)}", file.old, file.text[:4]) for file in new]
    assert found == [(name, None, "a {}")][: len(name)]


@pytest.mark.parametrize("line", ["# new.py", "// new.js", "<!-- new.html -->", "/* a/new.css */"])
def test_a_file_that_its_first_line_names_is_found_though_it_is_like_an_attached_one(line):
    (new,) = proposed(f"```\n{line}\n\n{CODE}\n```", *FILES)
    assert (new.name, new.text) == (line.split()[1], f"{CODE}\n")


def test_an_answer_may_hold_several_files_each_for_itself():
    pages = [Attachment(f"{name}/page.html", f"<p>\n{name}\n</p>") for name in "ab"]
    blocks = ("a/page.html", "<p>\nC\n</p>"), ("b/page.html", "<p>\na\n</p>"), ("x.js", "let x")
    answer = "\n".join(f"**{name}**\n```\n{text}\n```" for name, text in blocks)
    assert [(new.name, new.text[:-1]) for new in proposed(answer, *pages)] == [*blocks]
