"""`proposals` finds the files in an answer: new versions of attached ones, and new ones."""

import json
from pathlib import Path

import pytest

from assistant.edit.proposals import proposals
from assistant.store.values import Attachment, StoredMessage
from tests.assistant.edit.edits import proposed

CODE = "def one():\n    return 1\n\n\ndef two():\n    return 2"
PROSE = "# Title\n\nFirst.\n\n```sh\nmake\n```\n\nLast.\nEnd.\nReally."
PATCH = CODE.replace("\n", "\n ").replace("     return 2", "-    return 2\n+    return 3")
VERSIONS, NAMED = (Path(__file__).with_name(name) for name in ("versions.json", "named.txt"))
"""Answers with new versions; and with a name (? if it is a fragment), in which ⏎ is a new line."""
FILES = [Attachment("code.py", CODE), Attachment("notes.md", PROSE), Attachment("no.py", "\n")]
ALIKE = enumerate(("a/b.css", "b.css", "a/my b.css", "a/c.css", "b/c.css", "a b/e.css"), 1)
FILES += [Attachment(name, f"p\nq\n{n}\n{n}a\n{n}b") for n, name in ALIKE]


@pytest.mark.parametrize(("answer", "name", "text"), json.loads(VERSIONS.read_text("utf-8")))
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
