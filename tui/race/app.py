"""The app of `specchat race`: one race, and out."""

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType

from assistant.request import Race
from assistant.service import Service
from tui.app.program import Program
from tui.race.screen import RaceScreen
from tui.settings.settings import Settings


class RaceApp(Program):
    """Run a race, show it, and end when its screen is closed."""

    TITLE = "specchat race"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", id="app.quit", priority=True),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]

    def __init__(
        self, race: Race, settings: Settings, engine: Callable[[], Service] | None = None
    ) -> None:
        super().__init__(engine)
        self.settings = settings
        self.race = RaceScreen(race, self.submit)

    def on_mount(self) -> None:
        """Show the lanes, and begin."""
        self.appear(self.settings)
        self.push_screen(self.race, lambda _: self.exit())

    async def on_unmount(self) -> None:
        """Free the models, whatever the reason to go."""
        await self.close_engine()
