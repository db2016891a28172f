"""The footer of a screen: as many of the keys that work now as fit, the most needed first."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import ActiveBinding
from textual.events import Resize
from textual.widgets import Footer

from tui.app.textual_private import FooterKey

ORDER = {
    "Editor": (
        "chat.stop", "chat.leave", "chat.undo", "chat.turns", "chat.new", "chat.chats",
        "chat.models", "chat.regenerate", "chat.panel", "chat.settings", "chat.tools", "chat.race",
    ),
    "ResultTurn": (
        "turn.open", "turn.continue", "turn.copy", "turn.regenerate", "turn.fork", "turn.delete",
    ),
    "ApprovalTurn": ("call.once", "call.conversation", "call.always", "call.refuse"),
    "Turn": (
        "turn.continue", "turn.edit", "turn.apply", "chat.undo", "turn.copy_code", "turn.copy",
        "turn.regenerate", "turn.newer", "turn.older", "turn.sources", "turn.thought",
        "turn.view", "turn.fork", "turn.delete", "turn.inspect", "turn.ghosts",
    ),
    "ChatRows": (
        "chats.open", "chats.undo", "chats.rename", "chats.export", "chats.delete", "chats.pin",
    ),
    "EntryLine": (
        "entry.submit", "models.list", "models.pull", "models.draft", "models.no-draft",
        "chats.list", "chats.rename", "chats.pin",
    ),
    "ModelList": (
        "models.use", "models.pull", "models.draft", "models.no-draft", "models.open",
    ),
    "SettingsScreen": ("settings.change", "settings.reset", "settings.edit"),
    "TokenPage": (
        "inspector.right", "inspector.next_rejection", "inspector.previous_rejection",
    ),
    "RaceScreen": ("race.skip", "race.replay", "race.ghosts", "app.quit"),
}  # fmt: skip
"""The keys by what has the focus, the most likely first; those are shown that work now."""
ALWAYS = ("escape", "f1")
"""Keys that are shown wherever they work: back, and the page that lists what works here."""
NARROW = 60
"""Width in cells below which the keys are closer together."""


class KeyLine(Footer):
    """Show whole keys only."""

    _composed: Sequence[ActiveBinding] = ()  # the keys that were active then

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)

    def compose(self) -> ComposeResult:
        """Yield the keys that fit."""
        self.compact = self.size.width < NARROW
        keys = [
            FooterKey(
                active.binding.key,
                self.app.get_key_display(active.binding),
                active.binding.description,
                active.binding.action,
                tooltip=active.tooltip,
                classes="-compact" if self.compact else "",
            )
            for active in self.active_keys()
        ]
        for key in keys:  # binding it would style each key three times
            key.set_reactive(FooterKey.compact, self.compact)
        yield from fitting_keys(keys, self.size.width, 2 if self.compact else 3)

    def active_keys(self) -> Iterator[ActiveBinding]:
        """Yield the keys that work now, in the order of the table."""
        working = {
            active.binding.id or key: active
            for key, active in reversed(self.screen.active_bindings.items())
            if active.enabled
        }
        parts = (*type(self.screen.focused).__mro__, *type(self.screen).__mro__)
        names = next((ORDER[part.__name__] for part in parts if part.__name__ in ORDER), ())
        always = [id_ for id_, active in working.items() if active.binding.key in ALWAYS]
        always.sort(key=lambda id_: working[id_].binding.key)
        yield from (working[name] for name in dict.fromkeys((*names, *always)) if name in working)

    def on_resize(self, event: Resize) -> None:
        """Fit the keys to the new width."""
        self._composed = ()
        self.call_after_refresh(self.recompose)

    async def recompose(self) -> None:
        """Compose again only if the active keys have changed, which is rare."""
        if not self.is_attached:  # its screen has been closed
            return
        keys = tuple(self.active_keys())
        if keys != self._composed:
            self._composed = keys
            await super().recompose()


def fitting_keys(keys: Sequence[FooterKey], cells: int, around: int) -> list[FooterKey]:
    """Return the keys that fit into `cells`, each with `around` cells of space, in their order."""
    chosen: set[FooterKey] = set()
    for key in sorted(keys, key=lambda key: key.key not in ALWAYS):
        cells -= cell_len(f"{key.key_display}{key.description}") + around
        if cells >= 0:
            chosen.add(key)
    return [key for key in keys if key in chosen]
