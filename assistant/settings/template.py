"""The template of `config.toml`: every key explained, and none set."""

import json
import textwrap
from collections.abc import Iterator

from assistant.settings.keys import Value
from assistant.settings.settings import KEYS

_TITLES = {
    "target": "Models", "mode": "Guesses", "system": "System prompt", "temperature": "Sampling",
    "thinking": "Thinking", "ctx": "Machine", "offline": "Privacy", "theme": "Looks",
}  # fmt: skip
"""The groups of keys in the template, by the first key of each."""
_OPENING = """\
# The settings of specchat. Remove the "# " before a key to set it. Only you write this file, but
# F9 adds tools to it when you say so.
# An option on the command line comes first, then the environment, then what you chose in the
# program (F6), unless it was set here later. See: specchat config show
"""
_CLOSING = """\
# Tools that a model may ask to be called. You are asked before one runs; F9 lists them.
# [tools]
# folders = ["~/notes"]  # which it may read, list and search
# rounds = 8             # of calls, before you are asked whether to continue
# [tools.servers.NAME]   # a server of tools (MCP); or url = "http://127.0.0.1:8000/mcp"
#                        # with headers = { Authorization = "Bearer ${TOKEN}" }
# command = "some-server"
# args = ["--option"]
# env = { TOKEN = "..." }
# cwd = "~/project"
"""


def template() -> str:
    """Return a `config.toml` in which every key is explained and none is set."""
    return "\n".join([_OPENING, *_explanations(), _CLOSING])


def _explanations() -> Iterator[str]:
    for key in KEYS.values():
        if key.name in _TITLES:
            yield f"# --- {_TITLES[key.name]} ---\n"
        variable = f" Also {key.environment}." if key.variable else ""
        text = f"{key.help} Allowed: {key.allowed}.{variable}"
        wrapped = textwrap.wrap(text, 96, break_on_hyphens=False)
        lines = [*wrapped, f"{key.name} = {literal(key.default)}"]
        yield "".join(f"# {line}\n" for line in lines)


def literal(value: Value) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    return f"[{', '.join(map(literal, value))}]" if isinstance(value, tuple) else repr(value)
