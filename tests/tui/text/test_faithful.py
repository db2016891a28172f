"""Formatted answers show every visible character that the model wrote."""

import itertools

import pytest

from tests.tui.chat.turns import Shown, answer, open_page
from tui.text.text_view import TextView

VERBATIM = [
    "391.", "1.", "7)", "-", "+", "*", "***", "---", "_ _ _", "- - -", "- -", "1. -", "#", "##",
    ">", "> >", "2*3*4", "2**3**4", "(a)*(b)*(c)", "f(x)*g(y)*h(z)", "a.*b.*c", ".*foo.*bar",
    "n!*k!*m!", "__init__", "__init__.py", "__main__ and __name__", "_private_ and _x", "x__y__z",
    "snake_case_name", "$x_1 * y_1$", r"\( a_1*b_1*c \)", r"\[ \mathbf{x}_{i} + \mathbf{y}_{j} \]",
    r"a & b \\ c", r"\*stars\* \# \_ \` \\", "&amp; &lt;b&gt; &#65; &nbsp;", "<div>x</div>",
    "<script>alert(1)</script>", "List<String> and <b>bold</b> &lt;i&gt;",
    "<!-- gone -->", "<br>", "<http://a.example/b>", "[a]: http://b.example 'title'", "[a][b]",
    "[^1]: note", "Title\n=====", "# Heading #", "## ##", "**", "****", "** **", "**\u200b**",
    "``", "` `", "~~", "a~~b~~c", "~~~~", "```", "```python", "```\n```", "~~~\n\n~~~", "| |\n|-|",
    "|a|\n|-|\n|1|2|", "![x](y 'z')", "[a](b 'c')", "[a](<b c>)", "[a](b\\)c)", "[a](b&amp;c)",
    "one\ntwo\nthree", "a  \nb\\\nc", "a    b\tc", "def f(x):\n    return  x",
    "├── a\n│   └── b", "x = a\n+ b", "https://a.example/__init__/b*c*d",
    "https://a.example/%C3%96/\u00d6", "a\u00a0b",  "#5 is not #6",
    "5 > 3\n3 < 5", "- " * 15 + "told", "|a|b|\n|c|d|",
]  # fmt: skip
"""Answers of which no character is formatting."""
FORMATTED = {
    "**bold** *italic* ~~gone~~ `code`": "bold italic gone code",
    "__very bold__ _and so on_": "very bold and so on",
    "***both***": "both",
    "**R**ead (*now*)": "Read (now)",
    "重点**内容**在": "重点内容在",
    "1986. was a year": "1986. was a year",
    "01. one": "01. one",
    "10. ten": "10. ten",
    "9. nine\n10. ten": "9. nine\n10. ten",
    "1. a\n1. b\n5. c": "1. a\n1. b\n5. c",
    "2) b\n   7. g\n   9. i": "2) b\n7. g\n9. i",
    "1. a\n2.\n3. c": "1. a\n2.\n3. c",
    "- a\n-\n- c": "• a\n-\n• c",
    "- a\n\n  ***\n- b": f"• a\n{'─' * 91}\n• b",
    "a `b\nc` d": "a b c d",
    "# Title\ntext": "Title\ntext",
    "> a\n> b": "▌ a\n▌ b",
    "[**words**](http://a.example/x)": "[words](http://a.example/x)",
    "```python x=1\n\n  __init__\n```": "▌ python x=1\n▌\n▌   __init__",
    "~~~\n```\n~~~": "▌ ```",
    "    indented": "▌ indented",
    "Text\n---\nmore": f"Text\n{'─' * 93}\nmore",
}


def rows(page: Shown) -> list[str]:
    """The rows of the answer on the screen, without empty ones."""
    words = page.app.query_one(TextView).region
    lines = page.text.split("\n")[words.y : words.bottom]
    return [row for row in (line[words.x :].rstrip() for line in lines) if row]


AS_WRITTEN = {text: text.expandtabs() for text in VERBATIM}


@pytest.mark.parametrize("texts", [AS_WRITTEN, FORMATTED], ids=["as written", "formatted"])
async def test_formatting_takes_nothing_but_its_own_marks(texts: dict[str, str]) -> None:
    wrong = {}
    async with open_page(size=(100, 24)) as page:
        for id, (text, shown) in enumerate(texts.items(), 2):
            await page.open([answer(id, text)])
            found = [row.strip() if texts is FORMATTED else row for row in rows(page)]
            if found != [line.rstrip() for line in shown.split("\n") if line]:
                wrong[text] = rows(page)
    assert not wrong


async def test_blocks_are_separated_by_a_blank_line() -> None:
    text = "one\n\ntwo\n\n# three\n\n1. four\n\n> five\n\nsix"
    async with open_page(answer(2, text), size=(60, 30)) as page:
        seen = [row.strip() for row in page.text.split("\n")]
        blocks = ["one", "two", "three", "1. four", "▌ five", "six"]
        places = [seen.index(block) for block in blocks]
        assert [b - a for a, b in itertools.pairwise(places)] == [2] * 5
