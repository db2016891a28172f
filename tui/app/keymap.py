"""The named keys of all screens and widgets, and the commands of the palette made from them."""

import importlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from pkgutil import iter_modules

from textual.app import SystemCommand
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

PACKAGES = (
    "app", "chat.conversation", "chat", "chat.prompt", "models", "race", "settings", "widgets"
)  # fmt: skip
"""The packages with screens and widgets that have keys, in the order of the help page."""
UNUSED = ("Quit", "Keys", "Maximize", "Minimize")
"""Commands of Textual that the app's keys cover, or that are useless here."""
_DISPLAY = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "slash": "/"}


def all_bindings() -> dict[str, Binding]:
    """Return every binding that has a name, of all screens and widgets."""
    bindings = (binding for owner in _owners() for binding in vars(owner)["BINDINGS"])
    return {binding.id: binding for binding in bindings if binding.id}


def _owners() -> Iterator[type[DOMNode]]:
    """Yield the classes that have keys; modules of commands have none."""
    for name in PACKAGES:
        package = importlib.import_module(f"tui.{name}")
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("command"):
                for value in vars(importlib.import_module(module.name)).values():
                    own = isinstance(value, type) and value.__module__ == module.name
                    if own and issubclass(value, DOMNode) and vars(value).get("BINDINGS"):
                        yield value


def readable(keys: str) -> str:
    """Return keys as people write them: `Ctrl+K, F9`."""
    return ", ".join(_display(key.strip()) for key in keys.split(","))


def _display(key: str) -> str:
    if len(key) == 1:
        return key
    return "+".join(_DISPLAY.get(part, part.capitalize()) for part in key.split("+"))


def commands(
    own: Iterable[SystemCommand],
    screen: Screen[object],
    run: Callable[[str, DOMNode], Awaitable[object]],
) -> Iterator[SystemCommand]:
    """Yield Textual's `own` commands, and one for each active key of the screen."""
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
    """Return the title of a key in the palette, with all words to search for."""
    if name.casefold() in meaning.casefold():
        return meaning
    return f"{name} · {meaning}" if meaning else name
