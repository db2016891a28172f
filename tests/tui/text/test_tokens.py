"""The style of tokens by their origin, while they stream and afterwards."""

import re

import pytest
from textual.app import App
from textual.content import Content

from assistant.events import Origin, Step
from tests.tui.chat.turns import RESIDUAL, Shown, characters, ghost, open_page, text_of, token
from tui.text.text_view import as_step
from tui.text.token_styles import COLOURED, GHOST, NAMES, OTHER, PLAIN, kind, legend, styles
from tui.widgets.lines import Head

BUFFERED = token("_", Origin.TARGET, None)  # by an earlier round, as what may begin a call
REJECTED = Step((BUFFERED, token("a"), token("c", RESIDUAL)), (ghost("x"), ghost("y\n")))


def test_a_token_has_the_look_of_its_source_or_of_its_origin() -> None:
    looks = {"model": "draft", "suffix": "suffix", "ngram": "ngram", "oracle": OTHER}
    for source, expected in looks.items():
        assert kind(token("a", source=source)) == expected
        assert kind(token("a", RESIDUAL, source)) == RESIDUAL
    assert kind(token("a", Origin.TARGET, None)) == Origin.TARGET


def test_every_look_differs_from_the_others_with_colour_and_without() -> None:
    for looks in (styles(False), styles(True)):
        assert len(set(looks.values())) == len(looks)
    assert not any("$" in look for look in PLAIN.values())
    without_hue = [
        tuple(
            word
            for word in look.split()
            if word in ("bold", "italic", "underline", "underline2", "strike")
        )
        for kind, look in COLOURED.items()
        if kind not in ("draft", Origin.TARGET)
    ]
    assert len(set(without_hue)) == len(without_hue)


def test_legend_lists_what_applies_and_nothing_else() -> None:
    assert legend(COLOURED, {GHOST, "draft"}).plain == "right guess · wrong guess"
    assert legend(COLOURED, Origin).plain == "right guess · correction · not guessed"
    assert legend(COLOURED, ()).plain == ""


@pytest.mark.parametrize(("width", "lines"), [(126, 1), (64, 3)])
async def test_the_legend_of_an_answer_names_all_kinds_at_any_width(width: int, lines: int) -> None:
    kinds = {"draft", "suffix", "tail", "ngram", "residual", "target", GHOST}
    head = Head()
    head.line = Content("Somebody with a long name")
    async with App[None]().run_test(size=(width, 6)) as pilot:
        await pilot.app.mount(head)
        await pilot.pause()
        assert head.size.height == 1
        head.legend = legend(COLOURED, kinds)
        await pilot.pause()
        assert head.size.height == lines
        rows = [head.render_line(y).text for y in range(lines)]
        assert "Somebody with a long name" in rows[0]
        for kind in kinds:
            assert NAMES[kind] in " ".join(" ".join(rows).split())


async def test_ghosts_stand_struck_before_the_token_that_replaced_them_and_move_no_text() -> None:
    async with open_page() as page:
        answer = await page.stream(REJECTED)
        assert text_of(answer) == "_ac▍"
        answer.focus()
        await page.press("g")
        assert characters(answer)[:-1] == [
            ("_", COLOURED[Origin.TARGET]),
            ("a", COLOURED["draft"]),
            ("x", COLOURED[GHOST]),
            ("y", COLOURED[GHOST]),
            ("⏎", COLOURED[GHOST]),
            ("c", COLOURED[RESIDUAL]),
        ]
        assert "wrong guess" in page.text
        await page.press("g")
        assert text_of(answer) == "_ac▍"
        assert "rejected" not in page.text
        page.view.switch(ghosts=True)  # in all answers
        second = await page.stream(REJECTED)
        assert text_of(answer) == text_of(second) == "_axy⏎c▍"


SENTENCE = "A long sentence goes around many corners of the narrow screen. "
SIZES = [(100, 30), (10, 30), (20, 5), (46, 4), (31, 12), (101, 30)]


@pytest.mark.parametrize("sentences", [5, 30])
async def test_a_streaming_answer_is_drawn_afresh_after_resizes(sentences: int) -> None:
    steps = [as_step(SENTENCE * sentences)]
    async with open_page(size=SIZES[0]) as page:
        answer = await page.stream(*steps)
        for count, size in enumerate((*SIZES[1:], *reversed(SIZES))):
            await page.pilot.resize_terminal(*size)
            await page.settle()
            if count > 7:  # some sizes were there before, with no token between
                steps.append(as_step("more\n\n" * 4))  # more lines than are reserved
                answer.add(steps[-1])
                await page.settle()
            assert timeless(page) == await afresh(steps, size)


async def test_a_resize_is_followed_by_rest() -> None:
    layouts: list[object] = []
    async with open_page(size=SIZES[0]) as page:
        await page.stream(as_step(SENTENCE * 30))
        page.app.screen.screen_layout_refresh_signal.subscribe(page.app, layouts.append)
        for size in (*SIZES, *reversed(SIZES)):
            await page.pilot.resize_terminal(*size)
            await page.settle()
            count = len(layouts)
            for _ in range(5):
                await page.pilot.pause()
            assert len(layouts) == count


async def afresh(steps: list[Step], size: tuple[int, int]) -> str:
    async with open_page(size=size) as page:
        await page.stream(*steps)
        return timeless(page)


def timeless(page: Shown) -> str:
    """What is on the screen, whenever it was begun."""
    return re.sub(r"\d\d:\d\d", "00:00", page.text)


async def test_megabyte_without_a_line_break_is_shown_bit_by_bit() -> None:
    async with open_page() as page:
        answer = await page.stream()
        answer.add(as_step("word " * 200_000))
        await page.pilot.pause()
        assert len(answer.text) == 1_000_000
        view = answer.tokens
        assert 0 < len(view.lines) < 10_000
        while sum(line.content.cell_length + 1 for line in view.lines) < 999_000:
            await page.pilot.pause(0.05)
        await page.end(answer)
        await page.pilot.press("pageup")
        assert page.view.is_running
