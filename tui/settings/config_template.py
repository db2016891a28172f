"""The documented `config.toml`, made from the table of keys."""

import json
import textwrap
from collections.abc import Iterator

from tui.settings.keys import GROUPS, Key
from tui.settings.value_kinds import Value

_OPENING = """\
# What specchat does when nothing else is said. Take away a "# " in front of a key to set it.
# An option of the command line goes first, then the environment, then this file.
# The settings screen (F6) writes here too, and keeps your comments. See: specchat config show
"""
_CLOSING = """\
# Presets: a system prompt and sampling by name; chosen with --preset or in the settings screen.
# [presets.code]
# system = "You are a terse programmer."
# temperature = 0.2

# Keys of the app by the names that `specchat config keys` lists; several are "f8,f9".
# [keys]
# "chat.new" = "f8"
"""


def template() -> str:
    """Return a `config.toml` in which every key is explained and none is set."""
    return "\n".join([_OPENING, *_groups(), _CLOSING])


def commented(key: Key) -> str:
    """Return the line that shows a key's default without setting it."""
    return f"# {key.name} = {literal(key.default)}"


def literal(value: Value) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    return f"[{', '.join(map(literal, value))}]" if isinstance(value, tuple) else repr(value)


def _groups() -> Iterator[str]:
    for title, keys in GROUPS.items():
        yield f"# --- {title} ---\n"
        for key in keys:
            yield f"{_explained(key)}\n{commented(key)}\n"


def _explained(key: Key) -> str:
    variable = f" Also {key.environment}." if key.variable else ""
    text = f"{key.help} Allowed: {key.kind.allowed}.{variable}"
    return textwrap.fill(
        text, 98, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
