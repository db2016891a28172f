"""Answers as Markdown: formatted, highlighted, and never interpreted as markup."""

from dataclasses import replace

import pytest
from textual.geometry import Offset
from textual.selection import Selection
from textual.theme import BUILTIN_THEMES

from assistant.events import Step
from tests.hostile_texts import FAMILIES, valid
from tests.tui.chat.turns import answer, characters, open_page, question, text_of, token
from tests.tui.rest import until
from tui.app.themes import legible
from tui.chat.conversation.answer import Answer
from tui.text.text_view import as_step
from tui.text.token_styles import COLOURED

CODE = "Look:\n\n```python\nprint('hi')\n```\n\n- **bold** and `code`\n"


async def test_an_answer_is_formatted_and_coloured_from_its_first_token_on() -> None:
    async with open_page() as page:
        shown = await page.stream(Step((token("**b"), token("old**"))))
        assert text_of(shown) == "bold▍"
        assert characters(shown)[0] == ("b", COLOURED["draft"])
        shown.add(as_step(" text\n\n```python\nx = 1"))
        await page.settle()
        assert "▌ python" in page.text
        assert "▌ x = 1▍" in page.text
        while_streaming = characters(shown)
        await page.end(shown, "length")
        assert characters(shown) == [
            look if look[0] != "▍" else (" ", "on $panel 60%") for look in while_streaming
        ]
        assert "cut at the length limit" in page.text


async def test_v_toggles_the_colours_of_an_answer() -> None:
    async with open_page() as page:
        shown = await page.stream(Step((token("**b"), token("old**"))))
        await page.end(shown)
        assert "right guess" in page.text
        shown.focus()
        await page.press("v")
        assert characters(shown)[0] == ("b", "bold")
        assert "right guess" not in page.text
        await page.press("v")
        assert characters(shown)[0] == ("b", COLOURED["draft"])
        page.view.switch(colours=False)  # of all answers
        await page.settle()
        assert characters(shown)[0] == ("b", "bold")
        again = await page.stream(Step((token("new"),)))
        assert characters(again)[0] == ("n", "")


async def test_code_is_highlighted_and_wrapped_with_its_language_or_without() -> None:
    long = "x = " + " + ".join(["1"] * 60)
    async with open_page(answer(2, f"{CODE}\n```\n{long}\n```\n")) as page:
        lines = page.app.query_one(Answer).tokens.lines
        label, printed = lines[2], lines[3]
        assert (label.content.plain.rstrip(), printed.content.plain.rstrip()) == (
            "▌ python", "▌ print('hi')",
        )  # fmt: skip
        assert any("$text-success" in str(span.style) for span in printed.content.spans)
        assert all("on $panel" in str(line.content.spans[0].style) for line in (label, printed))
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
        shown = page.app.query_one(Answer).tokens
        await page.pilot.hover(shown)
        for x in range(30):
            await page.pilot.click(shown, offset=(x, 0))
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
        table = "> |left|right|mid|\n> |-|--:|:-:|\n> |1|2|3|\n> |`a | b`|c|d|"
        await page.open([answer(2, table)])
        rows = [line.strip(" ▌│") for line in page.text.splitlines()]
        assert "left   right  mid" in rows
        assert "1          2   3" in rows
        assert "a | b      c   d" in rows
        view = page.app.query_one(Answer).tokens

        def colours(y: int) -> set[object]:
            parts = view.render_line(y)
            return {part.style.color for part in parts if part.style and part.text.strip(" ▌")}

        assert not colours(1) & colours(2)  # the rule is fainter than words


@pytest.mark.parametrize(
    "text",
    [
        "word " * 20_000, "a\n\n" * 3000, "|a|b|c|\n|-|-|-|\n" + "|1|2|3|\n" * 1500,
        "line\n" * 10_000,
    ],
    ids=["one line", "many blocks", "big table", "many lines"],
)  # fmt: skip
async def test_a_very_large_text_is_shown_from_its_beginning_to_its_end(text: str) -> None:
    async with open_page(answer(2, f"# Title\n\n{text}\n**The end**")) as page:
        shown = page.app.query_one(Answer)
        await until(page.pilot, lambda: text_of(shown).rstrip("*").endswith("The end"))
        page.view.scroll_home(animate=False)
        await page.settle()
        assert "# Title" not in page.text
        assert "Title" in page.text
        marks = str.maketrans("", "", "|-─# *\n")
        written = f"Title{text}The end".translate(marks)
        assert text_of(shown).translate(marks) == written


async def test_an_answer_that_continues_adds_to_its_last_block() -> None:
    async with open_page() as page:
        await page.open([question(1), answer(2, "- on", state="stopped")], {2: (as_step("- on"),)})
        shown = page.app.query_one(Answer)
        shown.add(as_step("e and two"))
        await page.settle()
        assert shown.busy
        assert text_of(shown) == "• one and two▍"
        await page.end(shown)
        assert text_of(shown) == "• one and two"
        assert [step.text for step in shown.steps] == ["- on", "e and two"]


async def test_selected_text_is_copied_as_it_was_written() -> None:
    code = "def f(x):\n\n    return {'a': x, 'b': [x] * 3}  # and so on, to the edge and beyond"
    text = f"# One\n\nText **bold** end\n\n```python\n{code}\n```\n\n|a|b|\n|-|-|\n|1|2|"
    async with open_page(answer(2, text), size=(50, 30)) as page:
        view = page.app.query_one(Answer).tokens
        rows = [line.content.plain for line in view.lines]

        def copied(begin: tuple[int, int], end: tuple[int, int] | None) -> str:
            selection = Selection(Offset(*begin), end and Offset(*end))
            return (view.get_selection(selection) or ("", ""))[0]

        assert copied((0, 0), None) == text
        first = next(y for y, row in enumerate(rows) if "def f" in row)
        last = next(y for y, row in enumerate(rows) if "and beyond" in row)
        assert last > first + 2  # the layout broke lines
        assert copied((0, first), (len(rows[last].rstrip()), last)) == code
        line = next(y for y, row in enumerate(rows) if "bold" in row)
        assert copied((5, line), (9, line)) == "bold"


async def test_marks_are_painted_at_once_and_a_new_search_replaces_the_old() -> None:
    async with open_page() as page:
        view = (await page.stream(as_step("A zebra and an okapi"))).tokens

        def struck() -> bool:
            return any(s.style and s.style.strike for s in view.render_line(0))

        assert not struck()
        view.marks = [(0, 1, "strike")]
        assert struck()
        assert view.mark(["zebra"]) == 2
        assert view.mark(["OKAPI"]) == 15
        assert struck()
        assert len(view.marks) == 2


async def test_an_answer_without_guesses_has_no_legend() -> None:
    async with open_page(answer(2, "Imported")) as page:
        assert "not guessed" not in page.text
