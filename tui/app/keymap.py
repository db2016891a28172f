"""The app's keys: their names, how `[keys]` in `config.toml` changes them, and the palette."""

import importlib
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pkgutil import walk_packages

from textual.app import SystemCommand
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys
from textual.screen import Screen

ROOMS = ("app", "chat", "models", "race", "settings", "widgets")
"""Where the screens and the widgets are that have keys."""
UNUSED = ("Quit", "Keys", "Maximize", "Minimize")
"""Textual's own commands that the app's keys already cover, or that are useless here."""
_MODIFIERS = {"ctrl", "shift", "alt", "super", "hyper", "meta"}
_NAMED = {key.value for key in Keys}
_SAME = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+[": "escape", "ctrl+h": "backspace"}
"""Pairs that terminals cannot distinguish."""
_WRITTEN = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "slash": "/"}
_TYPED_INTO = ("app", "chat", "prompt")
"""Areas in which the prompt has the focus and takes every character."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A key of the app."""

    id: str | None
    keys: str
    description: str
    owner: type[DOMNode]
    priority: bool = False


def all_bindings() -> dict[str, Bound]:
    """Return every binding that has a name, of all screens and widgets."""
    found = (bound for owner in _owners() for bound in bindings_of(owner))
    return {bound.id: bound for bound in found if bound.id is not None}


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


def bindings_of(owner: type[DOMNode]) -> Iterator[Bound]:
    """Yield the keys that a class adds to those of its bases."""
    for raw in vars(owner).get("BINDINGS", ()):
        binding = raw if isinstance(raw, Binding) else Binding(*raw)
        meaning = binding.tooltip or binding.description
        yield Bound(binding.id, binding.key, meaning, owner, binding.priority)


def usable(
    keymap: Mapping[str, str], bindings: Mapping[str, Bound]
) -> tuple[dict[str, str], list[str]]:
    """Return the part of a keymap that works, and why the rest does not."""
    good: dict[str, str] = {}
    complaints: list[str] = []
    for name, keys in keymap.items():
        reason = _unknown(name, bindings) or _unusable(name, keys) or _taken(name, keys, bindings)
        if reason:
            complaints.append(f"[keys] {name}: {reason}")
        else:
            good[name] = ",".join(key.strip() for key in keys.split(","))
    return good, complaints + list(_clashes(good, bindings))


def _unknown(name: str, bindings: Mapping[str, Bound]) -> str | None:
    from difflib import get_close_matches

    if name in bindings:
        return None
    close = get_close_matches(name, bindings, 1)
    hint = f"did you mean {close[0]}?" if close else "specchat config keys lists them."
    return f"there is no such key; {hint}"


def _unusable(name: str, keys: str) -> str | None:
    for key in (key.strip() for key in keys.split(",")):
        *modifiers, base = key.split("+") if len(key) > 1 else [key]
        if not base or not set(modifiers) <= _MODIFIERS or not _is_key(base):
            return f"{key!r} is not a key; write it as ctrl+t or f8."
        if key in _SAME:
            return f"terminals cannot tell {key} from {_SAME[key]}."
        if not modifiers and len(base) == 1 and name.split(".")[0] in _TYPED_INTO:
            return f"{key} is typed into the prompt; add ctrl+."
    return None


def _taken(name: str, keys: str, bindings: Mapping[str, Bound]) -> str | None:
    """Say that the prompt, which has the focus, would use the key itself."""
    if name.split(".")[0] in ("app", "chat") and not bindings[name].priority:
        own = prompt_keys(bindings)
        for key in (key.strip() for key in keys.split(",")):
            if key in own:
                return f"{key} already belongs to the prompt: {own[key]}."
    return None


def prompt_keys(bindings: Mapping[str, Bound]) -> dict[str, str]:
    """Return the keys that the prompt uses for editing, and for what."""
    editors = {bound.owner for name, bound in bindings.items() if name.startswith("prompt.")}
    return {
        key.strip(): bound.description
        for editor in editors
        for bound in bindings_of(editor)
        for key in bound.keys.split(",")
    }


def _is_key(base: str) -> bool:
    if len(base) == 1 or base in _NAMED:
        return base.isprintable()
    try:
        return bool(unicodedata.lookup(base.replace("_", " ").upper()))
    except KeyError:
        return False


def _clashes(good: Mapping[str, str], bindings: Mapping[str, Bound]) -> Iterator[str]:
    for name, keys in good.items():
        for other, bound in bindings.items():
            if other == name or not _meet(bindings[name].owner, bound.owner):
                continue
            both = set(keys.split(",")) & set(good.get(other, bound.keys).split(","))
            if both and (other not in good or other > name):
                yield f"[keys] {name}: {', '.join(sorted(both))} is also {other}."


def _meet(one: type[DOMNode], other: type[DOMNode]) -> bool:
    """Return whether both can be reached at once: the app's keys work everywhere."""
    return one is other or any(owner.__module__ == "tui.app.app" for owner in (one, other))


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
