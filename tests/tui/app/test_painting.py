"""What is written to the terminal after a change: the changed lines, and little else."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pyte
import pytest
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot

from assistant.events import Step
from tests.tui.chat.turns import Page, Shown, ghost, question, token
from tui.text.text_view import as_step

SIZE = (60, 20)


class Recorder(HeadlessDriver):
    """A terminal that keeps what is written to it."""

    written: list[str]

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        if not hasattr(self, "written"):
            self.written = []
        self.written.append(data)


class Painted(Page):
    """A conversation at such a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.driver_class = Recorder


class Terminal:
    """The page, and the terminal that it is painted on."""

    def __init__(self, page: Shown) -> None:
        self.page = page
        self._screen = pyte.Screen(*SIZE)
        self._stream = pyte.Stream(self._screen)

    def news(self) -> str:
        """Take what has been written since the last time."""
        driver = self.page.app._driver
        assert isinstance(driver, Recorder)
        text = "".join(driver.written)
        driver.written.clear()
        self._stream.feed(text)
        return text

    @property
    def is_right(self) -> bool:
        """Whether the terminal shows what painting everything would show."""
        self.news()
        lines = zip(self._screen.display, self.page.text.split("\n"), strict=True)
        return all(shown.rstrip() == painted.rstrip() for shown, painted in lines)

    async def comes_to_show(self) -> None:
        """It is right as soon as a toast that has had its time is gone from both."""
        await self.page.until(lambda: self.is_right)


async def on_terminal(do: Callable[[Terminal], Awaitable[None]]) -> None:
    async def drive(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        await do(Terminal(Shown(pilot)))
        pilot.app.exit()

    await Painted().run_async(headless=False, size=SIZE, auto_pilot=drive)


def steps(rng: random.Random, count: int) -> list[Step]:
    words = ["word ", "a ", "\n", "-", "unbroken" * 3, "  ", "é ", "x"]
    texts = ["".join(rng.choices(words, k=rng.randint(1, 3))) for _ in range(count)]
    return [Step((token(text),), (ghost("no "),) * rng.randint(0, 2)) for text in texts]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.some(2)
async def test_the_terminal_shows_what_a_full_paint_would(seed: int) -> None:
    async def do(terminal: Terminal) -> None:
        page, rng = terminal.page, random.Random(seed)
        page.view.add_question(question(9))
        page.view.switch(ghosts=bool(seed % 2))
        answer = await page.stream()
        for step in steps(rng, 60):
            answer.add(step)
            await page.pilot.pause(rng.choice((0, 0, 0.03)))
            if rng.random() < 0.05:
                page.app.notify("something in front of the text", timeout=0.2)
            if rng.random() < 0.05:
                page.view.scroll_relative(y=rng.choice((-3, 3)), animate=False)
            if rng.random() < 0.2:
                await page.settle()
                await terminal.comes_to_show()
        await page.end(answer, "length")
        await terminal.comes_to_show()

    await on_terminal(do)


async def test_of_a_word_that_comes_its_line_is_written() -> None:
    async def do(terminal: Terminal) -> None:
        answer = await terminal.page.stream(as_step("The first words stand still.\n\nThen "))
        terminal.news()
        answer.add(as_step("novel "))
        await terminal.page.settle()
        written = terminal.news()
        assert "novel" in written
        assert "stand" not in written
        assert len(written) < 200

    await on_terminal(do)


async def test_a_line_that_comes_moves_no_other_while_there_is_room() -> None:
    async def do(terminal: Terminal) -> None:
        answer = await terminal.page.stream(*[as_step(f"line {n}\n") for n in range(40)])
        moved = 0
        for number in range(40, 60):
            terminal.news()
            answer.add(as_step(f"line {number}\n"))
            await terminal.page.settle()
            moved += "line 39" in terminal.news()
        assert 0 < moved <= 7

    await on_terminal(do)
