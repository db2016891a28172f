"""An app that shows the prompt alone, and the driver of its tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual import events, on
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from assistant.request import CountTokens
from assistant.session.unsent_text import Unsent
from tests.tui.driver import Driver
from tui.chat.prompt.prompt import Prompt
from tui.chat.prompt.prompt_attachments import Chip


class Alone(App[None]):
    """Keep what the prompt says."""

    def __init__(self) -> None:
        super().__init__()
        self.prompt = Prompt()
        self.sent: list[Unsent] = []
        self.wanted: list[CountTokens] = []
        self.prompt.attached.submit = lambda job, _: self.wanted.append(job)

    def compose(self) -> ComposeResult:
        yield Static("", classes="conversation")
        yield self.prompt

    def on_mount(self) -> None:
        self.prompt.focus()

    @on(Prompt.Submitted)
    def take(self, message: Prompt.Submitted) -> None:
        assert message.unsent is not None
        self.sent.append(message.unsent)


class Typist(Driver):
    """Somebody at the prompt."""

    def __init__(self, app: Alone, pilot: Pilot[None]) -> None:
        super().__init__(pilot)
        self.app, self.prompt = app, app.prompt

    async def type(self, text: str) -> None:
        names = {"\n": "ctrl+j", "\x1b": "escape"}
        await self.pilot.press(*(names.get(letter, letter) for letter in text))

    async def paste(self, text: str) -> None:
        self.prompt.editor.post_message(events.Paste(text))
        await self.pilot.pause()
        await self.pilot.pause()

    async def pick(self, typed: str, *keys: str) -> None:
        """Type an @ and letters of a name, wait for what is offered, and press keys."""
        await self.type(f"@{typed}")
        await self.until(lambda: self.prompt.picker.searched == typed)
        await self.pilot.press(*keys)

    async def pick_again(self, typed: str) -> None:
        """Enter the folder that is offered first, which is typed then."""
        await self.pilot.press("enter")
        await self.until(lambda: self.prompt.picker.searched == typed)
        assert self.prompt.text == f"@{typed}"
        await self.pilot.pause()

    async def attach(self, typed: str, key: str = "enter") -> None:
        """Pick a file, and wait until it has been read."""
        count = len(self.chips)
        await self.pick(typed, key)
        await self.until(lambda: len(self.chips) > count)

    @property
    def offered(self) -> list[str]:
        return [str(option.prompt) for option in self.prompt.picker.options]

    @property
    def chips(self) -> tuple[Chip, ...]:
        return self.prompt.attached.chips

    @property
    def row(self) -> str:
        """What the row of chips says."""
        return str(self.prompt.attached.render())


@asynccontextmanager
async def at_the_prompt(size: tuple[int, int] = (80, 24)) -> AsyncIterator[Typist]:
    app = Alone()
    async with app.run_test(size=size) as pilot:
        yield Typist(app, pilot)
