"""Answers as Markdown: what a model wrote may neither hide nor run anything."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.token import Token
from textual.content import Content
from textual.theme import BUILTIN_THEMES
from textual.widgets import Markdown, Static

from assistant.events import Step
from tests.hostile_texts import FAMILIES, valid
from tests.patience import WAIT_S
from tests.tui.chat.turns import (
    Shown,
    answer,
    open_page,
    question,
    round_of,
    token,
    tokens_of,
    words_of,
)
from tests.tui.rest import until
from tui.app.themes import legible
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.markdown_blocks import Fence, Table
from tui.chat.conversation.markdown_reading import MAX_CHARACTERS, after, divided, read

CODE = "Look:\n\n```python\nprint('hi')\n```\n\n- **bold** and `code`\n"


async def test_complete_answer_becomes_words_and_v_switches_back() -> None:
    async with open_page() as page:
        shown = await page.stream(Step((token("**b"), token("old**"))))
        assert "**bold**" in page.text
        await page.end(shown, "12 tokens")
        assert "**" not in page.text
        assert "bold" in page.text
        assert "12 tokens" in page.text
        shown.focus()
        await page.press("v")
        assert "**bold**" in page.text
        assert "right guess" in page.text
        await page.press("v")
        assert "**" not in page.text
        page.view.view = "tokens"  # of all answers
        await page.settle()
        assert "**bold**" in page.text
        await page.end(await page.stream(round_of("**new**")))
        assert "**new**" in page.text
        page.view.view = "words"
        await page.settle()
        assert "**" not in page.text


async def test_code_is_highlighted_and_wrapped_with_its_language_or_without() -> None:
    long = "x = " + " + ".join(["1"] * 60)
    async with open_page(answer(2, f"{CODE}\n```\n{long}\n```\n")) as page:
        fences = list(page.app.query(Fence))
        assert [fence.lexer for fence in fences] == ["python", ""]
        label = fences[0].query_one("#code-content", Static).content
        assert isinstance(label, Content)
        assert any("$text-success" in str(span.style) for span in label.spans)
        assert page.text.count("1 + 1") > 1
        assert page.text.count(" 1") >= 20


async def test_links_and_pictures_are_text_that_does_nothing() -> None:
    hostile = (text.replace("{m}", "7741") for text in (*FAMILIES["markdown"], *FAMILIES["markup"]))
    texts = ["![a](https://evil.example) [b](https://evil.example)", *map(valid, hostile)]
    async with open_page(answer(2, "\n\n".join(texts)), size=(120, 150)) as page:
        assert texts[0] in page.text
        screen = page.app.screen
        places = ((x, y) for y in range(screen.size.height) for x in range(screen.size.width))
        assert not [at for at in places if screen.get_style_at(*at).meta.get("@click")]


async def test_markup_in_a_table_is_text_also_under_the_mouse() -> None:
    text = "| [/] | [@click=app.quit]x[/] |\n|-|-|\n| [red]a | [/b] |\n"
    async with open_page(answer(2, text)) as page:
        assert "[@click=app.quit]x[/]" in page.text
        table = page.app.query_one(Table)
        assert table.tooltip is None
        await page.pilot.hover(table)
        for x in range(30):
            await page.pilot.click(table, offset=(x, 0))
        assert page.app._exit is False


async def test_a_table_is_as_wide_as_its_content_and_wraps_or_is_shown_as_it_was_written() -> None:
    table = f"|name|{'|'.join(f'column{i}' for i in range(9))}|\n{'|-' * 10}|\n{'|1' * 10}|"
    for width, is_source in ((120, False), (40, True)):
        async with open_page(size=(width, 30)) as page:
            await page.open([answer(2, table)])
            assert ("|-|-|" in page.text) is is_source
            for i in range(9):
                assert f"column{i}" in page.text.replace("\n", "").replace(" ", "")
            await page.open([answer(3, f"|a|b|\n|-|-|\n|1|`2 | 3` {'word ' * 50}|\n|2|4|")])
            assert page.text.count("word") == 50
            assert page.text.count(" 1  2 | 3 word") == 1
            await page.open([answer(4, "|a|b|\n|-|-|\n|1|2|")])
            assert page.text.count("─") == 4  # one rule, as wide as the table


async def test_cells_of_a_table_stand_where_their_column_has_its_colons() -> None:
    async with open_page() as page:
        page.app.register_theme(replace(legible(BUILTIN_THEMES["nord"]), name="ours"))
        page.app.theme = "ours"
        await page.open(
            [answer(2, "> |left|right|mid|\n> |-|--:|:-:|\n> |1|2|3|\n> |`a | b`|c|d|")]
        )
        rows = [line.strip(" ▌│") for line in page.text.splitlines()]
        assert "left   right  mid" in rows
        assert "1          2   3" in rows
        assert "a | b      c   d" in rows
        table = page.app.query_one(Table)
        rule, words = (
            {part.style.color for part in table.render_line(y) if part.style and part.text.strip()}
            for y in (1, 2)
        )
        assert not rule & words  # it is fainter


@pytest.mark.parametrize(
    "text",
    [
        "word " * (MAX_CHARACTERS // 5 + 1),
        "a\n\n" * 3000,
        "|a|b|c|\n|-|-|-|\n" + "|1|2|3|\n" * 500,
    ],
    ids=["long", "many blocks", "big table"],
)
async def test_a_text_too_large_for_markdown_is_shown_as_it_came(text: str) -> None:
    async with open_page(answer(2, text)) as page:
        assert not page.app.query(Markdown)
        shown = page.app.query_one(Answer)
        assert "Too long to format" in "".join(
            str(line.render()) for line in shown.query(".too-much")
        )
        page.view.scroll_home(animate=False)
        await page.settle()
        assert text.split("\n")[0].strip()[:30] in page.text


async def test_words_of_an_answer_that_continues_are_made_again() -> None:
    async with open_page() as page:
        await page.open([question(1), answer(2, "one", state="stopped")], {2: (round_of("one"),)})
        shown = page.app.query_one(Answer)
        shown.add(round_of(" and two"))
        await page.settle()
        assert shown.busy
        assert tokens_of(shown) == "one and two▍"
        await page.end(shown)
        assert "one and two" in words_of(shown)
        assert [step.text for step in shown.steps] == ["one", " and two"]


async def reads(page: Shown, shown: Answer, text: str) -> str:
    """Wait until a text can be read in an answer; return all of it."""
    async with asyncio.timeout(WAIT_S):
        while text not in words_of(shown):
            await page.pilot.pause(0.05)
    await page.settle()
    return words_of(shown)


async def test_an_answer_under_way_is_read_as_words_and_goes_on_so() -> None:
    async with open_page() as page:
        shown = await page.stream(round_of("# Title\n\n**bo"))
        shown.focus()
        await page.pilot.press("v")
        await reads(page, shown, "Title")
        assert "▍" not in page.text
        shown.add(round_of("ld** text\n\n```python\nx = 1\n"))
        await reads(page, shown, "bold text")
        assert "**" not in page.text
        assert next(iter(page.app.query(Fence))).lexer == "python"
        await page.pilot.press("v")  # and back to the tokens
        await page.settle()
        assert tokens_of(shown).endswith("x = 1\n▍")
        await page.pilot.press("v")
        await reads(page, shown, "bold text")
        shown.add(round_of("y = 2\n```\n\nThe end"))
        shown.finish("12 tokens")
        read_to_the_end = await reads(page, shown, "The end")
        assert read_to_the_end.count("Title") == 1
        assert read_to_the_end.count("x = 1") == 1
        assert "12 tokens" in page.text


@pytest.mark.parametrize(
    "text", ["a" * (MAX_CHARACTERS + 1), "a\n\n" * 3000], ids=["line", "blocks"]
)
async def test_an_answer_that_grows_too_long_for_markdown_goes_on_as_it_came(text: str) -> None:
    async with open_page() as page:
        shown = await page.stream(round_of("**bold**\n\n"))
        shown.focus()
        await page.pilot.press("v")
        assert "**" not in await reads(page, shown, "bold")
        shown.add(round_of(text))
        await until(page.pilot, lambda: "Too long to format" in page.text)
        await page.settle()
        shown.add(round_of("\nThe end"))
        await page.end(shown)
        assert "Too long to format" in page.text
        assert "The end" in page.text


@given(st.text(alphabet="ab1 -+*`|>#.\n[](){}~_\t\\", max_size=300), st.data())
def test_complete_blocks_are_those_of_the_whole_text(text: str, data: st.DataObject) -> None:
    entire = read(text)

    def blocks(tokens: list[Token]) -> list[tuple[str, ...]]:
        return [
            (token.type, token.content, token.info, str(token.meta), *kinds(token.children or ()))
            for token in tokens
        ]

    def kinds(tokens: Iterable[Token]) -> list[str]:
        return [f"{token.type} {token.content}" for token in tokens]

    coming, done = "", []
    while text:
        size = data.draw(st.integers(1, 40))
        coming, text = coming + text[:size], text[size:]
        tokens = read(coming)
        assert tokens is not None
        complete, rest = divided(tokens, coming.count("\n"))
        done += blocks(complete)
        coming = after(coming, rest)
    tokens = read(coming)
    assert tokens is not None
    assert done + blocks(tokens) == blocks(entire or [])
