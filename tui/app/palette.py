"""What the command palette offers: every key that has a name, so that one need not know it."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial

from textual.app import SystemCommand
from textual.dom import DOMNode
from textual.screen import Screen

from tui.app.keymap import readable

UNUSED = ("Quit", "Keys", "Maximize", "Minimize")
"""Textual's own commands that are among the app's keys already, or have no use here."""


def commands(
    own: Iterable[SystemCommand],
    screen: Screen[object],
    run: Callable[[str, DOMNode], Awaitable[object]],
) -> Iterator[SystemCommand]:
    """Yield Textual's `own` commands, and those that are behind the keys of the screen."""
    yield from (command for command in own if command.title not in UNUSED)
    offered: set[str] = set()
    for active in screen.active_bindings.values():
        binding = active.binding
        named = binding.id and binding.description and active.enabled
        if binding.id and named and binding.id not in offered:
            offered.add(binding.id)
            title = _title(binding.description, binding.tooltip)
            yield SystemCommand(
                title, readable(binding.key), partial(run, binding.action, active.node)
            )


def _title(name: str, meaning: str) -> str:
    """Return what a key is called in the palette, where one searches for a word."""
    if name.casefold() in meaning.casefold():
        return meaning
    return f"{name} · {meaning}" if meaning else name
