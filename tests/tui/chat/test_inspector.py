"""The token inspector, by its keys, on answers of a real engine."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App
from textual.geometry import Size
from textual.pilot import Pilot

from assistant.events import Alternative, Event, Origin, RejectedToken, Step, Token, Trace
from assistant.store.values import Attachment
from tests.tui.chat import recorded
from tests.tui.chat.recorded import watched
from tui.chat.inspector import EMPTY, Inspector, source_of
from tui.chat.token_facts import entries, facts, probability
from tui.chat.token_page import TokenLayout, TokenPage

ROWS = (Alternative(7, " cat", 0.412), Alternative(8, "\n", 0.3))
KEPT = Token(5, " the", Origin.DRAFT, "model", 0.91, 0.83, 0, 0.412, ROWS, ROWS)
REJECTED = RejectedToken(6, " dog", "model", 1, 0.83, 0.412, 0.91)
UNTESTED = RejectedToken(9, " ran", "model", 2, 0.5, None, None)
RESIDUAL = Token(7, " cat", Origin.RESIDUAL, "model", 0.412, 0.1, 1, 0.91, ROWS, ROWS)
STORY: Trace = (
    Step((Token(4, "See", Origin.TARGET, None, 1.0, None),)),
    Step((KEPT, RESIDUAL), (REJECTED, UNTESTED)),
    Step((KEPT, Token(3, "!\n", Origin.TARGET, None, 0.2, None, 1, None, ROWS))),
)
BLOCK: Trace = (
    Step(
        (
            replace(KEPT, uniform=None, threshold=1.0),
            replace(KEPT, position=1, threshold=0.5),
            replace(RESIDUAL, position=2, threshold=0.25),
        ),
        (
            replace(REJECTED, position=2, threshold=0.25),
            replace(UNTESTED, position=3, target_prob=0.3, uniform=0.8, threshold=0.1),
            replace(UNTESTED, position=4, target_prob=0.0, threshold=0.0),
        ),
    ),
)
SEEDED: Trace = (
    Step(
        (replace(KEPT, uniform=None), replace(RESIDUAL, origin=Origin.TARGET, uniform=None)),
        (replace(REJECTED, uniform=None),),
    ),
)


class Host(App[None]):
    """An app that opens the inspector."""

    def __init__(self, trace: Trace, passages: Sequence[Attachment] = ()) -> None:
        super().__init__()
        self.inspector = Inspector(trace, "Merge two lists", False, passages)

    def on_mount(self) -> None:
        self.push_screen(self.inspector)

    @property
    def page(self) -> TokenPage:
        return self.inspector.query_one(TokenPage)

    @property
    def facts(self) -> str:
        return "\n".join(line.plain for line in self.inspector._facts._lines)


def plain(*words: str) -> Trace:
    """An answer in which nothing was proposed."""
    tokens = (Token(i, word, Origin.TARGET, None, 1.0, None) for i, word in enumerate(words))
    return tuple(Step((token,)) for token in tokens)


@asynccontextmanager
async def inspecting(
    trace: Trace, *passages: Attachment, **how: Any
) -> AsyncIterator[tuple[Host, Pilot[None]]]:
    host = Host(trace, passages)
    async with host.run_test(**how) as pilot:
        await pilot.pause()
        yield host, pilot


@pytest.fixture(scope="module")
def answer(target: Path, draft: Path) -> list[Event]:
    return recorded.record(target, draft, tokens=200)


async def test_every_token_and_every_ghost_can_be_reached(answer: list[Event]) -> None:
    trace = recorded.trace(answer)[:15]
    wanted = [i for s in trace for i in (*s.tokens, *s.rejected)]
    assert any(step.rejected for step in trace)
    async with inspecting(trace) as (host, pilot):
        seen = [host.page.entries[0].item]
        for _ in wanted[1:]:
            await pilot.press("right")
            seen.append(host.page.entries[host.page.cursor].item)
            assert f"id {seen[-1].id} " in host.facts
        assert sorted(map(id, seen)) == sorted(map(id, wanted))
        await pilot.press("right")
        assert host.page.cursor == len(wanted) - 1


async def test_up_and_down_keep_to_the_column_and_home_and_end_to_the_line() -> None:
    words = ["one", " two", " three\n", "four\n", "\n", "five", " six\n\n\n", " seven"]
    async with inspecting(plain(*words)) as (host, pilot):
        where = []
        keys = ("right", "right", "down", "down", "up", "up", "down", "home", "end", "up", "G")
        for key in (*keys, "up", "down", "home", "ctrl+home"):
            await pilot.press(key)
            where.append(host.page.cursor)
        assert where == [1, 2, 3, 4, 3, 2, 3, 3, 3, 0, 7, 6, 7, 7, 0]


async def test_n_and_p_go_from_rejection_to_rejection(answer: list[Event]) -> None:
    trace = recorded.trace(answer)[:40]
    rejections = [
        place
        for place, entry in enumerate(entries(trace))
        if isinstance(entry.item, RejectedToken) and entry.item.target_prob is not None
    ]
    async with inspecting(trace) as (host, pilot):
        seen = []
        for _ in rejections:
            await pilot.press("n")
            seen.append(host.page.cursor)
        assert seen == rejections
        await pilot.press("n")
        assert host.page.cursor == rejections[-1]
        assert "No wrong guess after this one." in [n.message for n in host._notifications]
        await pilot.press("p")
        assert host.page.cursor == rejections[-2]


async def test_cursor_goes_to_a_click_and_is_seen_without_colour(monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with inspecting(STORY) as (host, pilot):
        await pilot.click("#tokens", offset=(2 + len("See the do"), 1))
        assert host.page.entries[host.page.cursor].item is REJECTED
        spans = [str(span.style) for span in host.page.line(0).spans]
        assert spans[1] == "bold reverse underline"
        assert len(set(spans)) == 4


async def test_answer_without_a_record_says_so() -> None:
    async with inspecting(()) as (host, pilot):
        await pilot.press("right", "down", "n", "end")
        assert str(host.inspector.query_one("#inspector-empty").render()) == EMPTY
        await pilot.press("escape")
        assert not isinstance(host.screen, Inspector)


@pytest.mark.parametrize("size", [(120, 40), (1, 1)])
async def test_the_inspector_works_at_any_size(answer: list[Event], size: tuple[int, int]) -> None:
    async with inspecting(recorded.trace(answer), size=size) as (host, pilot):
        await pilot.press("right", "down", "n", "pagedown", "pageup", "end", "G")
        await pilot.resize_terminal(60, 20)
        await pilot.press("up")
        lines = range(host.page.virtual_size.height)
        assert max(host.page.line(y).cell_length for y in lines) <= host.page.line_width


async def test_only_lines_that_are_visible_and_change_are_made(answer, monkeypatch) -> None:
    trace = (*plain("=" * 300), *recorded.trace(answer) * 25)
    async with inspecting(trace, size=(80, 24)) as (host, pilot):
        assert len(host.page.entries) > 5000
        made = watched(host.page, "line", monkeypatch)
        await pilot.press("right")
        assert {*made} == {*range(5)}  # those of the long token and of the next
        await pilot.press("G")
        assert len(made) <= 8 + host.page.size.height


def test_tiny_probabilities_do_not_become_nothing() -> None:
    shown = [probability(p) for p in (1.0, 0.4124, 0.0, 0.000012)]
    assert shown == ["1.000", "0.412", "0.000", "1.2e-05"]


def facts_at(place: int, width: int = 76, story: Trace = STORY) -> str:
    shown = entries(story)
    lines = facts(shown[place], place + 1, len(shown), Size(width, 12))
    return "\n".join(line.plain for line in lines)


CASES = [
    # An accepted token shows the inequality that kept it.
    (STORY, 1, "Right guess, from: guessing model.", "Place 1 in round 2, which had 3 guesses."),
    (STORY, 1, "chance 1.000"),
    (STORY, 1, "uniform 0.412 × guesses 0.830 < answers 0.910: right"),
    # A rejected one that which threw it out, and the rows of its place.
    (STORY, 2, "“·cat” came instead.", "chance 0.496", "41.2%", "-▸·cat"),
    (STORY, 2, "uniform 0.910 × guesses 0.830 ≥ answers 0.412: wrong"),
    (STORY, 3, "never checked", "-uniform"),
    # What replaced it names it.
    (STORY, 4, "it replaces the wrong guess “·dog”", "“·dog”: uniform 0.910", "▸·cat", "↵"),
    # The target's own tokens say why nothing was replaced.
    (STORY, 0, "no guess was tried here", "No alternatives were kept", "Round 1, without guesses."),
    (STORY, 6, "it follows right guesses", "Place 2 in round 3, which had 1 guess."),
    # The block rule says up to where a draft was kept; one proposal alone is replaced.
    (BLOCK, 0, "right: kept with what follows it", "-uniform", "-chance"),
    (BLOCK, 1, "chance 0.500 unless more is kept"),
    (BLOCK, 1, "uniform 0.412 < threshold 0.500: kept up to here"),
    (BLOCK, 2, "uniform 0.910 ≥ threshold 0.250: not kept this far", "“·cat” came instead.", "↵"),
    (BLOCK, 3, "the answer continued without it", "uniform 0.800 ≥ threshold 0.100", "-What"),
    (BLOCK, 4, "the answer continued without it", "wrong: the answer cannot have it here", "-What"),
    (BLOCK, 5, "“·dog”: uniform 0.910 ≥ threshold 0.250: not kept this far"),
    # With a seed the token that the target draws decides.
    (SEEDED, 0, "right: with this seed the answer has the same token", "-uniform", "-chance"),
    (SEEDED, 1, "wrong: with this seed the answer has another", "-uniform", "-chance"),
    (SEEDED, 2, "it replaces the wrong guess “·dog”", "-uniform", "-chance"),
]


@pytest.mark.parametrize("case", CASES)
def test_every_token_and_ghost_says_why_it_is_there_or_not(case: tuple[Trace, int, str]) -> None:
    story, place, *words = case
    shown = facts_at(place, story=story)
    for word in words:
        assert (word.removeprefix("-") in shown) is not word.startswith("-")
    assert max(map(len, facts_at(place, 46, story).split("\n"))) <= 46


async def test_the_legend_is_whole_on_a_narrow_screen() -> None:
    async with inspecting(STORY, size=(40, 20)) as (host, _):
        head = host.inspector.query_one("Head")
        shown = " ".join(head.render_line(y).text.strip() for y in range(head.size.height))
        assert shown.endswith("right guess · correction · not guessed · wrong guess")


WORD = st.text("ab 漢\u0301\u200b\u200d👩", min_size=1, max_size=30)


@given(st.lists(st.one_of(WORD, st.just("↵\n"))), st.integers(1, 12))
@example(["Hel", "lo", " world", " and", " 漢字漢字", "↵\n", "x" * 25, "\u200b", "end"], 10)
def test_lines_break_between_tokens_and_lose_nothing(texts: list[str], width: int) -> None:
    layout = TokenLayout(texts, width)
    lines = ["".join(piece.text for piece in line) for line in layout.lines]
    assert "".join(lines) == "".join(texts).replace("\n", "")
    for line in layout.lines:
        assert all(a.start + cell_len(a.text) == b.start for a, b in pairwise(line))
        assert sum(cell_len(piece.text) for piece in line) <= max(width, 2)
    for entry, place in enumerate(layout.first_lines):
        assert layout.at(place, layout.column(entry)) is not None
    assert len(layout.first_lines) == len(texts)


PASSAGES = [
    Attachment("notes/air.md", "Zeppelins are moored at dusk.", 1, 3, 4),
    Attachment("notes/sea.md", "A walrus eats clams.", 2, 1, 1),
]
COPIED = Token(1, " at dusk.", Origin.DRAFT, "suffix", 1.0, 1.0)


def test_a_copy_is_shown_with_the_passage_that_its_words_stand_in() -> None:
    own = Step((Token(2, "Zeppelins are moored", Origin.TARGET, None, 1.0, None),))
    copied = entries((own, Step((COPIED,))))
    sentences = [source_of(copied, index, PASSAGES) for index in range(2)]
    assert sentences == ["", "These words stand in [1] notes/air.md:3-4."]
    guessed = entries((own, Step((replace(COPIED, source="model"),))))
    assert source_of(guessed, 1, PASSAGES) == ""


async def test_the_passage_is_among_the_facts() -> None:
    copied = Step((replace(COPIED, text=PASSAGES[0].text),))
    async with inspecting((copied,), *PASSAGES) as (host, _):
        assert "These words stand in [1] notes/air.md:3-4." in host.facts
