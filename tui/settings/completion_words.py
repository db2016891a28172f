"""What a shell may complete an option with."""

from collections.abc import Iterator

from models import catalog
from models.errors import SpecchatError
from models.files.stores import stored
from tui.settings.config_file import read
from tui.settings.keys import Key
from tui.settings.value_kinds import Whole
from tui.settings.word_kinds import ChoiceKind, ListKind, TextKind


def words(key: Key) -> list[str]:
    """Return the words that a key's value may be."""
    try:
        return list(dict.fromkeys(_words(key)))
    except (SpecchatError, OSError):
        return []  # a shell has no place for a complaint


def _words(key: Key) -> Iterator[str]:
    if isinstance(key.kind, ChoiceKind):
        yield from key.kind.choices
    elif isinstance(key.kind, ListKind):
        yield from (key.kind.word, *key.kind.choices)
    elif isinstance(key.kind, Whole | TextKind) and key.kind.word:
        yield key.kind.word
    if key.name == "preset":
        yield from read().presets
    elif key.name in ("target", "draft"):
        yield from models()
        yield from ["none"] if key.name == "draft" else []


def models() -> Iterator[str]:
    """Yield what to call the models of the catalogue, and those that some program has here."""
    yield from catalog.FILES
    yield from (model.reference for model in stored())
