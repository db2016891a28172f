"""Text that grows: the lines are those of the whole text, however it comes."""

import random

import pytest
from textual.content import Content

from tui.chat.conversation.line_flow import Flow
from tui.widgets.token_styles import COLOURED, Run, styled

ALPHABET = ["a", "bc", "defghijklmnop", " ", "  ", "\n", "\t", "日本", "é", "e\u0301", "-", "👍"]
WIDTHS = (2, 3, 5, 12, 40)


def runs_of(text: str, rng: random.Random) -> list[Run]:
    """Cut a text anywhere, and give the pieces looks."""
    runs: list[Run] = []
    while text:
        size = rng.randint(1, 9)
        runs.append((text[:size], rng.choice(("draft", "residual", "target"))))
        text = text[size:]
    return runs


def texts(seed: int) -> tuple[str, random.Random]:
    rng = random.Random(seed)
    return "".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, 200))), rng


def looks(line: Content) -> list[str]:
    """Return the style of every character."""
    styles = [""] * len(line)
    for span in line.spans:
        styles[span.start : span.end] = [str(span.style)] * (span.end - span.start)
    return styles


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.some(60)
def test_however_a_text_comes_its_lines_are_the_same(width: int, seed: int) -> None:
    text, rng = texts(seed)
    runs = runs_of(text, rng)
    flow, at_once = Flow(width, COLOURED), Flow(width, COLOURED)
    at_once.add(runs)
    lines: list[Content] = []
    for run in runs:
        stable = flow.stable
        flow.add([run])
        assert [line.plain for line in flow.lines[:stable]] == [
            line.plain for line in lines[:stable]
        ]
        lines = [*flow.lines]
    assert [line.plain for line in flow.lines] == [line.plain for line in at_once.lines]
    assert [*map(looks, flow.lines)] == [*map(looks, at_once.lines)]
    assert flow.ends == at_once.ends


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(20))
def test_lines_are_those_that_the_widgets_of_textual_would_show(width: int, seed: int) -> None:
    text, rng = texts(seed)
    text = text.replace("\t", " ")
    flow = Flow(width, COLOURED)
    flow.add(runs_of(text, rng))
    whole = styled([(text, "target")], COLOURED).wrap(width)
    assert [line.plain for line in flow.lines] == [line.plain for line in whole]


def test_a_text_that_grows_leaves_all_but_its_last_lines_alone() -> None:
    flow = Flow(20, COLOURED)
    for number in range(1000):
        flow.add([(f"word{number} ", "target")])
        assert len(flow.lines) - flow.stable <= 2
    assert sum(len(text) for text, _ in flow._open) <= 2 * 20


def test_a_tab_reaches_to_the_next_eighth_cell_of_its_line() -> None:
    flow = Flow(40, COLOURED)
    for text in ("a", "b\t", "c\n", "\t", "d\n12345678", "\tx"):
        flow.add([(text, "target")])
    assert [line.plain for line in flow.lines] == [
        "ab      c",
        "        d",
        "12345678        x",
    ]
