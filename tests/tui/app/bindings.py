"""The bindings of all screens and widgets, for the tests of keys."""

import importlib
from collections.abc import Iterator

from textual.binding import Binding
from textual.dom import DOMNode

from tests import ROOT


def all_bindings() -> dict[str, Binding]:
    """Return every binding that has a name, of all screens and widgets."""
    for path in (ROOT / "tui").rglob("*.py"):
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    owners = (kind for kind in _below(DOMNode) if kind.__module__.startswith("tui."))
    bindings = (binding for owner in owners for binding in vars(owner).get("BINDINGS", ()))
    return {binding.id: binding for binding in bindings if binding.id}


def _below(kind: type[DOMNode]) -> Iterator[type[DOMNode]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _below(subclass)
