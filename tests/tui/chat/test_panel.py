"""The figures panel, on events of a real engine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual.app import App
from textual.content import Content

from assistant.decoding.lookahead.forecast import Forecast, Reason
from assistant.events import Decoded, Event, Stats, Tally
from tests.tui.chat import recorded
from tests.tui.chat.recorded import watched
from tests.tui.rest import until
from tui.chat.panel import NO_FIGURES, FiguresPanel
from tui.formatting import bar, shares, sparkline
from tui.outlook import DOING
from tui.widgets.lines import paragraph

MEASURED = Forecast(Reason.LIKELY, 1.31, 0.05)
FAST = Stats(
    "auto", rounds=40, drafted=120, tested=100, accepted=80, generated_tokens=120,
    decode_s=4.0, draft_s=1.0, verify_s=2.6,
    positions=(Tally(40, 36), Tally(35, 28), Tally(25, 16)),
    sources={"model": Tally(90, 76), "suffix": Tally(10, 4)},
)  # fmt: skip


@asynccontextmanager
async def open_panel() -> AsyncIterator[FiguresPanel]:
    async with App[None]().run_test(size=(140, 50)) as pilot:
        await pilot.app.mount(panel := FiguresPanel())
        panel.display = True
        await until(pilot, lambda: panel._lines)
        yield panel


@pytest.fixture(scope="module")
def answer(target: Path, draft: Path) -> list[Event]:
    return recorded.record(target, draft)


def panel_text(panel: FiguresPanel) -> str:
    return "\n".join(line.plain for line in panel._lines)


def figures(last: Decoded, width: int, height: int) -> list[Content]:
    """What is shown after a round of a long answer."""
    panel = FiguresPanel()
    panel.last, panel.n_ctx = last, 131_072
    panel.rates.extend([1.0] * 99)
    return panel.figures(width, height)


def show(panel: FiguresPanel, round_: Decoded) -> None:
    panel.add(round_)
    panel.paint()


def decoded(stats: Stats = FAST, forecast: Forecast = MEASURED) -> Decoded:
    return Decoded((), (), 3, 300, stats, forecast)


async def test_the_panel_shows_the_figures_of_the_engine(answer: list[Event]) -> None:
    async with open_panel() as panel:
        assert NO_FIGURES in panel_text(panel)
        panel.ready(recorded.ready(answer), "\x1b[31m is not a draft.")
        assert "␛[31m is not a" in panel_text(panel)
        for round_ in recorded.rounds(answer):
            show(panel, round_)
        last = recorded.rounds(answer)[-1]
        text = panel_text(panel)
        assert f"{last.stats.tokens_per_eval:.2f}" in text
        assert f"{last.stats.acceptance_rate:.0%} of {last.stats.tested}" in text
        assert f"{last.context_used} of 512" in text
        assert last.forecast is not None
        assert DOING[last.forecast.reason] in " ".join(text.split())
        panel.clear()
        assert NO_FIGURES in panel_text(panel)


def test_positions_are_aligned_in_the_panel() -> None:
    places = tuple(Tally(9, right) for right in (9, 6, 3, 9) * 3)
    rows = [line.plain for line in figures(decoded(replace(FAST, positions=places)), 37, 50)]
    assert "1 █ 100% 2 ▆ 67%  3 ▃ 33%" in "\n".join(rows)
    assert all(len(line) <= 37 for line in rows)


async def test_only_changed_lines_are_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_panel() as panel:
        show(panel, decoded())
        before = panel_text(panel).split("\n")
        changed = watched(panel, "change_lines", monkeypatch)
        more = replace(FAST, rounds=41, tested=110, accepted=90)
        show(panel, decoded(more))
        assert changed[0]
        counted = ("guesses right", "per round", "Guesses right")
        assert all(any(word in before[y] for word in counted) for y in changed[0])


@pytest.mark.parametrize("height", [1, 20, 60])
def test_no_line_is_wider_than_the_panel(height: int) -> None:
    for stats in (FAST, replace(FAST, positions=(Tally(9, 8),) * 12), Stats("ars")):
        for width in (1, 37):
            shown = figures(decoded(stats), width, height)
            assert width == 1 or max(line.cell_length for line in shown) <= width


@pytest.mark.parametrize("decode_s", [2.0, 3.0, 6.0, 9.0])
@pytest.mark.parametrize("reason", Reason)
def test_panel_at_80x24_shows_everything_without_scrolling(reason: Reason, decode_s: float) -> None:
    stats = replace(FAST, decode_s=decode_s, guessing_s=decode_s, lookahead_counts={3: 40})
    last = decoded(stats, Forecast(reason, 1.31, 0.05, 0.7, 0.5))
    assert len(figures(last, 37, 17)) <= 17


def test_a_paragraph_of_wide_characters_is_as_wide_as_its_column() -> None:
    assert max(line.cell_length for line in paragraph("漢字" * 40, 36)) == 36


def test_shares_add_up_to_the_width_and_bars_show_anything_above_nothing() -> None:
    assert shares([1, 1, 1], 10) == (3, 4, 3)
    assert shares([0, 0], 10) == (0, 0)
    assert sum(shares([0.51, 0.47, 0.02], 37)) == 37
    assert (bar(0, 10), bar(0.001, 10), bar(0.5, 10), bar(2, 3)) == ("", "╸", "━━━━━", "━━━")
    assert sparkline([0, 5, 10]) == "▁▅█"
    assert sparkline([]) == ""
