"""The last line of a screen: the keys that work now, as many as fit."""

from collections.abc import Iterable

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.events import Resize
from textual.widgets import Footer

from tui.app.textual_private import FooterKey

FIRST = ("escape", "f1")
"""Keys that are always shown: quit, and the palette."""
PALETTE = "-command-palette"


class KeyLine(Footer):
    """Show every key whole or not at all; those of what has the focus come before the others."""

    _shown: tuple[tuple[str, str, str, bool, str], ...] = ()

    def compose(self) -> ComposeResult:
        """Leave out what does not fit: first the space between the keys, then the palette."""
        keys = [key for key in super().compose() if isinstance(key, FooterKey)]
        room = self.size.width
        self.compact = _width(keys, compact=False) > room
        if _width(keys, self.compact) > room:
            keys = [key for key in keys if not key.has_class(PALETTE)]
        yield from fitting(keys, room, self.compact)

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
            if binding.show or binding.key == self.app.COMMAND_PALETTE_BINDING
        )
        if keys != self._shown:
            self._shown = keys
            await super().recompose()


def fitting(keys: Iterable[FooterKey], room: int, compact: bool) -> list[FooterKey]:
    """Return the keys that fit into `room` cells, in their order."""
    keys = list(keys)
    chosen: set[FooterKey] = set()
    for key in sorted(keys, key=lambda key: key.key not in FIRST):
        width = _width([key], compact)
        if width <= room:
            chosen.add(key)
            room -= width
        elif key.key not in FIRST:
            break
    return [key for key in keys if key in chosen]


def _width(keys: Iterable[FooterKey], compact: bool) -> int:
    """Return the cells that keys take, with the space between and around them."""
    texts = ((key.key_display, key.description) for key in keys)
    return sum(cell_len(key) + cell_len(meaning) + (2 if compact else 3) for key, meaning in texts)
