"""User-visible text is plain English: a deny list of words, with replacements."""

import json
import re
from pathlib import Path

import pytest

from tests.tools.strings import Text, of_module, of_page, texts

INSTEAD: dict[str, str] = json.loads(Path(__file__).with_name("english.json").read_text())
"""What to say instead of whole words, by their pattern."""
EXCEPT = {"tests/test_english.py": "it quotes what it denies"}
"""Files that are not looked through, and why."""
DENIED = re.compile(r"(?<![\w`'-])(?:" + "|".join(INSTEAD) + r")(?![\w'-])", re.IGNORECASE)


def offences(text: Text) -> list[str]:
    return [match.group().lower() for match in DENIED.finditer(". " + " ".join(text.words.split()))]


def advice(words: str) -> str:
    given = f". {words}"
    return next(say for bad, say in INSTEAD.items() if re.search(rf"(?<!\w)(?:{bad})\Z", given))


def test_no_text_has_a_word_of_the_deny_list() -> None:
    found = [
        f"{text.path}:{text.line}: “{words}”: {advice(words)}"
        for text in texts()
        if text.path not in EXCEPT
        for words in offences(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        '"""Mend the file."""',
        'x = f"{name} is loaded anew."',
        "x = 1  # it goes on with the rest",
        "def test_what_came_to_nothing_is_kept(): ...",
    ],
)
def test_every_kind_of_text_in_a_module_is_looked_through(source: str) -> None:
    assert any(offences(text) for text in of_module(source, "tui/module.py"))


def test_pages_are_looked_through_but_not_their_code() -> None:
    page = "Tried are two files.\n\n```\nmend\n```\n\nRun `mend` again.\n"
    assert [text.line for text in of_page(page, "docs/page.md") if offences(text)] == [1]
