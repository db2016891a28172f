"""The footer of a screen: the keys that work now, as many as fit."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.events import Resize
from textual.widgets import Footer

from tui.app.textual_private import FooterKey

FIRST = ("escape", "f1")
"""Keys that are always shown: back, and the page that lists all keys."""
NARROW = 60
"""Width in cells below which the keys are closer together."""


class KeyLine(Footer):
    """Show whole keys only; those of the focused widget come first."""

    _shown: tuple[tuple[str, str, str, bool, str], ...] = ()

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)

    def compose(self) -> ComposeResult:
        """Yield the keys that fit."""
        keys = [key for key in super().compose() if isinstance(key, FooterKey)]
        self.compact = self.size.width < NARROW
        yield from fitting(keys, self.size.width, 2 if self.compact else 3)

    def on_resize(self, event: Resize) -> None:
        """Fit the keys to the new width."""
        self._shown = ()
        self.call_after_refresh(self.recompose)

    async def recompose(self) -> None:
        """Compose again only if the active keys have changed, which is rare."""
        if not self.is_attached:  # its screen has been closed
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


def fitting(keys: Sequence[FooterKey], cells: int, around: int) -> list[FooterKey]:
    """Return the keys that fit into `cells`, each with `around` cells of space, in their order."""
    chosen: set[FooterKey] = set()
    for key in sorted(keys, key=lambda key: key.key not in FIRST):
        cells -= cell_len(f"{key.key_display}{key.description}") + around
        if cells >= 0:
            chosen.add(key)
    return [key for key in keys if key in chosen]
