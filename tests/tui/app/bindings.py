"""The bindings of all screens and widgets, for the tests of keys."""

import importlib
from collections.abc import Iterator
from pkgutil import iter_modules

from textual.binding import Binding
from textual.dom import DOMNode

PACKAGES = (
    "app", "chat.conversation", "chat", "chat.prompt", "models", "race", "settings", "widgets"
)  # fmt: skip
"""The packages with screens and widgets that have keys."""


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
