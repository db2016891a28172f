"""The last line of a screen: the keys that work now, as many as fit."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.events import Resize
from textual.widgets import Footer

from tui.app.textual_private import FooterKey

FIRST = ("escape", "f1")
"""Keys that are always shown: back, and the page that lists all keys."""
MOST, NARROW = 6, 60
"""Keys that are shown, as more would not be read; cells below which they stand closer together."""


class KeyLine(Footer):
    """Show every key whole or not at all; those of what has the focus come before the others."""

    _shown: tuple[tuple[str, str, str, bool, str], ...] = ()

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)

    def compose(self) -> ComposeResult:
        """Leave out what does not fit."""
        keys = [key for key in super().compose() if isinstance(key, FooterKey)]
        self.compact = self.size.width < NARROW
        yield from fitting(keys, self.size.width, 2 if self.compact else 3)

    def on_resize(self, event: Resize) -> None:
        """Fit the keys to the new width."""
        self._shown = ()
        self.call_after_refresh(self.recompose)

    async def recompose(self) -> None:
        """Make the keys again if others mean something now: most often none do."""
        if not self.is_attached:  # its screen has been closed meanwhile
            return
        active = self.screen.active_bindings.values()
        keys = tuple(
            (binding.key, self.app.get_key_display(binding), binding.description, enabled, tooltip)
            for _, binding, enabled, tooltip in active
            if binding.show
        )
        if keys != self._shown:
            self._shown = keys
            await super().recompose()


def fitting(keys: Sequence[FooterKey], room: int, around: int) -> list[FooterKey]:
    """Return the few keys that fit into `room` cells, with those around each, in their order."""
    chosen: set[FooterKey] = set()
    for key in sorted(keys, key=lambda key: key.key not in FIRST)[:MOST]:
        room -= cell_len(f"{key.key_display}{key.description}") + around
        if room >= 0:
            chosen.add(key)
    return [key for key in keys if key in chosen]
