"""The app of `specchat race`: one race, and out."""

import asyncio
from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from assistant.events import Event
from assistant.process.client import EngineProcess
from assistant.request import Race
from assistant.service import Service
from tui.app.messages import EngineSaid
from tui.app.program import Program
from tui.race.screen import RaceScreen
from tui.settings.settings import Settings

EngineFactory = Callable[[Callable[[Event], None]], Service]


class RaceApp(Program):
    """Run a race, show it, and end when its screen is closed."""

    TITLE = "specchat race"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", id="app.quit", priority=True),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]

    def __init__(
        self, race: Race, settings: Settings, engine: EngineFactory = EngineProcess
    ) -> None:
        super().__init__()
        self.settings = settings
        self.race = RaceScreen(race)
        self._new_engine = engine
        self._engine: Service | None = None

    def on_mount(self) -> None:
        """Show the lanes, and begin."""
        self.appear(self.settings)
        self.push_screen(self.race, lambda _: self.exit())
        self._engine = self._new_engine(self._hear)
        self.race.start(self._engine)

    async def on_unmount(self) -> None:
        """Free the models, whatever the reason to go."""
        if self._engine is not None:
            await asyncio.to_thread(self._engine.close)

    def _hear(self, event: Event) -> None:
        self.post_message(EngineSaid(event))  # called on the engine's thread

    @on(EngineSaid)
    def show(self, message: EngineSaid) -> None:
        """Pass on what the engine says."""
        self.race.show(message.event)
