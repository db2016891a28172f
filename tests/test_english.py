"""What users read is plain English: words of a deny list, and what to say instead."""

import re

import pytest

from tests.tools.strings import Text, of_module, of_page, texts

INSTEAD = {
    r"mend(s|ed|ing)?": "fix",
    r"anew": "again",
    r"behind": "after",
    r"for ever": "forever",
    r"so long as": "as long as",
    r"but for": "except",
    r"be it|were it": "whether",
    r"(who|whom)soever|(?<=[.:;] )who (has|asks|knows|wants|types|hangs)": "if you …",
    r"(the|a) person('s)?": "the user",
    r"in (the )?place of": "instead of",
    r"all the same": "anyway",
    r"makes? no sense": "is invalid",
    r"told apart|tells? (it|one|them|two|these|those) apart": "distinguish",
    r"(go|goes|going|gone|went) on (with|from|in)": "continue",
    r"(come|comes|came) to (nothing|no end)": "fail, not finish",
    r"(come|comes|came) to (its|their|an) end": "end, finish",
    r"(come|comes|came) about": "be made",
    r"brings? \w+ along": "import",
    r"(this|these|that|those|the) very": "the same, exactly these",
    r"takes? (no )?tokens? back|tokens? taken back": "roll back tokens",
    r"as good as none": "count as missing",
    r"moods?": "changes in speed",
    r"day's tests": "default tests",
    r"(said|ended|ends|told|comes|refused|stopped|stops) at once": "immediately",
    r"(?<=[.:;] )(tried|written|shown|printed|told|given|kept) (is|are)": "do not invert it",
    r"which of both|what nobody asked|as one text|by hand of": "say it plainly",
}
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
