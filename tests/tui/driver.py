"""Drives an app under test by its keys, and reads its screen and its notices."""

from collections.abc import Callable
from typing import Any

from textual.events import Key
from textual.pilot import Pilot

from tests.tui.rest import until


class Driver:
    """What the drivers of all screens can do."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self.pilot = pilot

    async def until(self, condition: Callable[[], Any]) -> None:
        """Wait until a condition holds."""
        await until(self.pilot, condition)

    async def press(self, *keys: str) -> None:
        """Press keys, and wait until they are handled."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    def at_once(self, *keys: str) -> None:
        """Press keys before the app has handled the first of them."""
        for key in keys:
            self.pilot.app.post_message(Key(key, key if len(key) == 1 else None))

    @property
    def notices(self) -> list[str]:
        """The texts of the notices."""
        return [notice.message for notice in self.pilot.app._notifications]

    @property
    def text(self) -> str:
        """What is on the screen, line by line."""
        lines = self.pilot.app.screen._compositor.render_full_update().strips
        return "\n".join("".join(strip.text for strip in line) for line in lines)
