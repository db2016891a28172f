"""Which tools of a server can be offered, under which names, and why others cannot."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from mcp_types import Tool as ListedTool

from assistant.request import Tool
from assistant.tools.limits import (
    DESCRIPTION_CHARACTERS,
    NAME_CHARACTERS,
    SCHEMA_CHARACTERS,
    SCHEMA_DEPTH,
)
from assistant.tools.servers import ServerSettings, lookalike
from assistant.tools.values import OfferedTool

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_TOLD = 5


@dataclass(frozen=True, slots=True)
class ToolListing:
    """The tools of a server that can be offered."""

    tools: tuple[OfferedTool, ...]
    own_names: dict[str, str]  # the server's for a tool, by the one that the model sees
    problem: str  # which others there are, and why they cannot; empty: none


def listing(server: ServerSettings, tools: list[ListedTool], more: str = "") -> ToolListing:
    """Choose among what a server lists; `more` says what was not even read."""
    offered: dict[str, OfferedTool] = {}
    own_names: dict[str, str] = {}
    alike: dict[str, str] = {}
    refused: list[str] = []
    for listed in tools:
        # Servers may use dots and slashes, models may not.
        name = f"{server.name}__{re.sub('[./]', '_', listed.name)}"
        reason = _unusable(name, listed)
        if not reason and (other := alike.get(lookalike(name))):
            reason = f"its name imitates {other}"
        if reason:
            refused.append(f"{listed.name[:NAME_CHARACTERS]!r}: {reason}")
        else:
            offered[name] = _offered(server, name, listed)
            own_names[name], alike[lookalike(name)] = listed.name, name
    if len(refused) > _TOLD:
        refused[_TOLD:] = [f"{len(refused) - _TOLD} more"]
    problems = [f"Left out: {'; '.join(refused)}." if refused else "", more]
    return ToolListing(tuple(offered.values()), own_names, " ".join(filter(None, problems)))


def _unusable(name: str, listed: ListedTool) -> str:
    if not _NAME.fullmatch(name) or not listed.name:
        return "its name has other characters than letters, digits, hyphens and underscores"
    if len(name) > NAME_CHARACTERS:
        return f"its name is too long ({NAME_CHARACTERS} characters with the server's)"
    if len(listed.description or "") > DESCRIPTION_CHARACTERS:
        return f"its description is too long ({DESCRIPTION_CHARACTERS:,} characters are the most)"
    if _depth(listed.input_schema) > SCHEMA_DEPTH:
        return f"its schema nests too deep ({SCHEMA_DEPTH} levels are the most)"
    if len(_text(listed.input_schema)) > SCHEMA_CHARACTERS:
        return f"its schema is too long ({SCHEMA_CHARACTERS:,} characters are the most)"
    return ""


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        lists = [each.values() if isinstance(each, dict) else each for each in level]
        level = [inner for each in lists for inner in each if isinstance(inner, dict | list)]
    return depth


def _offered(server: ServerSettings, name: str, listed: ListedTool) -> OfferedTool:
    notes = listed.annotations
    said = [listed.name, listed.title, listed.description, listed.input_schema,
            notes and notes.model_dump(mode="json")]  # fmt: skip
    fingerprint = hashlib.sha256(f"{server.identity}{_text(said)}".encode()).hexdigest()
    description = (listed.description or listed.title or "").replace("\0", "\ufffd")
    tool = Tool(name, description, _text(listed.input_schema))
    return OfferedTool(tool, server.name, bool(notes and notes.read_only_hint), fingerprint)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
