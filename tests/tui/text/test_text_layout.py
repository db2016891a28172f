"""A growing text has the lines of the whole text, however it arrives."""

import itertools
import random
from collections.abc import Iterator

import pytest
from textual.content import Content

from tests.patience import ALL
from tests.tui.text.documents import UNSEEN, documents, seen
from tui.safe import safe
from tui.text.fragment import Fragment
from tui.text.text_layout import MAX_BLOCK, TextLayout
from tui.text.token_styles import GHOST, Run

ALPHABET = ["a", "bc", "defghijklmnop", " ", "  ", "\n", "\t", "日本", "é", "e\u0301", "-", "👍"]
WIDTHS = (2, 3, 5, 12, 40)
CODE = "".join(
    f"\n{'def' if i % 5 else 'class'} f{i}(x):\n    '''A\n\n    text.'''\n    return {i}\n"
    for i in range(90)
)
LARGE = [
    f"Look:\n\n```python\n{CODE}```\n\nThe **end**.",
    f"- a\n\n```\n{'x = 1  # ' * 20}\n```\n" * 12,
    "".join(f"{i}. item `{i}`\n\n   ```py\n   x = {i}\n   ```\n" for i in range(60)),
    f"# T\n\n{'word ' * (MAX_BLOCK // 5 + 9)}\n\n**as it is**\n",
    "|a|b|\n|-|-|\n" + "|1|2|\n" * (MAX_BLOCK // 6 + 9) + "\n\n**as it is**",
    f"```\n{'a' * (2 * MAX_BLOCK)}\n**as it is**",
]
"""Texts with more than one portion of code, and with blocks that are too long to format."""


def runs_of(text: str, dice: random.Random, most: int = 9) -> Iterator[Run]:
    """Cut a text anywhere, with wrong guesses in between."""
    while text:
        size = dice.randint(1, most)
        if dice.random() < 0.2:
            yield "wrong", GHOST
        yield text[:size], dice.choice(("draft", "residual", "target"))
        text = text[size:]


def laid_out(runs: list[Run], width: int, formatted: bool = True) -> TextLayout:
    layout = TextLayout(width, formatted)
    layout.add(runs)
    return layout


def described(lines: list[Fragment]) -> list[tuple[str, list[tuple[object, ...]], list[int]]]:
    """Everything about lines: their characters, the styles of each, and where they come from."""
    return [(line.content.plain, looks(line.content), [*line.positions]) for line in lines]


def looks(line: Content) -> list[tuple[object, ...]]:
    styles: list[tuple[object, ...]] = [()] * len(line)
    for span in line.spans:
        for index in range(span.start, min(span.end, len(line))):
            styles[index] += (str(span.style),)
    return styles


def texts(seed: int) -> tuple[str, random.Random]:
    dice = random.Random(seed)
    return "".join(dice.choice(ALPHABET) for _ in range(dice.randint(0, 200))), dice


def check(text: str, dice: random.Random, width: int, formatted: bool, most: int = 9) -> None:
    """Whatever the rounds, the lines are the same and fit; those that are stable never change."""
    runs = [*runs_of(text, dice, most)]
    layout, before = TextLayout(width, formatted), described([])
    for run in runs:
        layout.add([run])
        now = described(layout.lines[: layout.stable])
        assert now[: len(before)] == before
        before = now
    whole = laid_out(runs, width, formatted)
    assert described(layout.lines) == described(whole.lines), (text, width)
    assert max(line.content.cell_length for line in layout.lines) <= width, (text, width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.some(60)
def test_the_lines_of_a_plain_text_do_not_depend_on_its_pieces(width: int, seed: int) -> None:
    text, dice = texts(seed)
    check(text, dice, width, formatted=False)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.some(8)
def test_the_lines_of_markdown_do_not_depend_on_its_pieces(seed: int) -> None:
    dice = random.Random(seed)
    for text in documents(400 if ALL else 25, seed):
        check(text, dice, dice.choice((20, 31, 60, 200)), formatted=True)
    check("- item\n\n> quote", dice, 1, formatted=True)


@pytest.mark.parametrize("text", ["- z\n- a|b\n-|-\n1|2", "_\na|\n|-."], ids=["item", "head"])
def test_a_table_begins_when_a_line_below_its_head_is_complete_and_in_no_item(text: str) -> None:
    for seed, most in itertools.product(range(9), (2, 9)):
        check(text, random.Random(seed), 60, formatted=True, most=most)


def test_a_rejected_draft_at_the_end_of_a_plain_line_moves_no_line_above_it() -> None:
    runs = [("klmnop\t本", "draft"), ("rong", GHOST), ("\n", "residual")]
    layout = TextLayout(5, formatted=False)
    for run in runs:
        layout.add([run])
    assert described(layout.lines) == described(laid_out(runs, 5, formatted=False).lines)


def test_a_tab_in_an_item_has_its_own_position() -> None:
    text = "- a\n\t**b**\n  c"
    line = laid_out([(text, "draft")], 40).lines[1]
    assert max(line.positions) < text.rindex("\n")


@pytest.mark.parametrize("text", LARGE, ids=range(len(LARGE)))
def test_the_lines_of_a_large_text_do_not_depend_on_its_pieces(text: str) -> None:
    check(text, random.Random(len(text)), 70, formatted=True, most=900)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.some(4)
def test_each_character_is_shown_once_and_knows_its_position_at_every_moment(seed: int) -> None:
    dice = random.Random(seed)
    for text in documents(200 if ALL else 30, seed):
        so_far = text[: dice.randint(1, len(text))]
        lines = laid_out([(so_far, "draft")], dice.choice((20, 40, 120))).lines
        shown = [
            (position, character)
            for line in lines
            for character, position in zip(line.content.plain, line.positions, strict=False)
            if position >= 0 and not character.isspace()
        ]
        positions = [position for position, _ in shown]
        assert len({*positions}) == len(positions), so_far
        assert all(so_far[at] == character for at, character in shown), so_far
        rows = "".join(line.content.plain for line in lines)
        assert seen(rows) == seen(so_far), so_far
        missing = "".join(c for at, c in enumerate(so_far) if at not in {*positions})
        assert not UNSEEN.sub("", missing), so_far


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(20))
def test_lines_are_those_that_the_widgets_of_textual_would_show(width: int, seed: int) -> None:
    text = texts(seed)[0].replace("\t", " ")
    lines = laid_out([(text, "target")], width, formatted=False).lines
    wrapped = Content(text).wrap(width)
    assert [line.content.plain for line in lines] == [line.plain for line in wrapped]


def test_a_growing_text_changes_only_its_last_lines() -> None:
    layout = TextLayout(20, formatted=False)
    for number in range(1000):
        layout.add([(f"word{number} ", "target")])
        assert len(layout.lines) - layout.stable <= 2


def test_growing_code_does_not_change_its_earlier_portions() -> None:
    open_lines = 0
    layout = TextLayout(80)
    for at in range(0, len(LARGE[0]), 50):
        layout.add([(LARGE[0][at : at + 50], "target")])
        open_lines = max(open_lines, len(layout.lines) - layout.stable)
    assert open_lines < len(layout.lines) / 2


def test_a_tab_reaches_to_the_next_eighth_cell_of_its_line(monkeypatch) -> None:
    monkeypatch.delattr(Content, "__getitem__")  # thousands of tabs are no thousands of copies
    layout = TextLayout(40, formatted=False)
    for text in ("a", "b\t", "c\n", "\t", "d\n12345678", "\tx"):
        layout.add([(text, "target")])
    assert [line.content.plain for line in layout.lines] == [
        "ab      c",
        "        d",
        "12345678        x",
    ]


def test_a_character_that_stands_for_a_pipe_in_code_has_its_place_in_the_text() -> None:
    text = safe("q\ufdd0a | b |\n|---|\n| `c|d` |")
    for end in range(len(text) + 1):
        lines = laid_out([(text[:end], "draft")], 40).lines
        assert max((at for line in lines for at in line.positions), default=-1) < end
