"""The app's keys: their names, how they are written, and the palette."""

import importlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from pkgutil import walk_packages

from textual.app import SystemCommand
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

ROOMS = ("app", "chat", "models", "race", "settings", "widgets")
"""Where the screens and the widgets are that have keys."""
UNUSED = ("Quit", "Keys", "Maximize", "Minimize")
"""Textual's own commands that the app's keys already cover, or that are useless here."""
_WRITTEN = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "slash": "/"}


def all_bindings() -> dict[str, Binding]:
    """Return every binding that has a name, of all screens and widgets."""
    found = (binding for owner in _owners() for binding in vars(owner)["BINDINGS"])
    return {binding.id: binding for binding in found if binding.id}


def _owners() -> Iterator[type[DOMNode]]:
    """Yield the classes that have keys; a command shows none."""
    for room in ROOMS:
        package = importlib.import_module(f"tui.{room}")
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("command"):
                for value in vars(importlib.import_module(found.name)).values():
                    own = isinstance(value, type) and value.__module__ == found.name
                    if own and issubclass(value, DOMNode) and vars(value).get("BINDINGS"):
                        yield value


def readable(keys: str) -> str:
    """Return keys as people write them: `Ctrl+K, F9`."""
    return ", ".join(_written(key.strip()) for key in keys.split(","))


def _written(key: str) -> str:
    if len(key) == 1:
        return key
    return "+".join(_WRITTEN.get(part, part.capitalize()) for part in key.split("+"))


def commands(
    own: Iterable[SystemCommand],
    screen: Screen[object],
    run: Callable[[str, DOMNode], Awaitable[object]],
) -> Iterator[SystemCommand]:
    """Yield Textual's `own` commands, and those of the keys of the screen."""
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
    """Return a key's name in the palette, where users search by word."""
    if name.casefold() in meaning.casefold():
        return meaning
    return f"{name} · {meaning}" if meaning else name
