"""From the tools that a server lists to those that a request can hold."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assistant.request import Tool
from assistant.tools.servers import ServerSettings
from assistant.tools.values import OfferedTool

if TYPE_CHECKING:  # it takes a second to load
    from mcp_types import Tool as ListedTool

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # OpenAI's rule for names
LONGEST = 20_000  # characters of a tool: some 6,000 tokens, most of the usual context


def usable_tools(
    server: ServerSettings, listed: "Sequence[ListedTool]"
) -> tuple[dict[OfferedTool, str], str]:
    """Return the usable tools, each with the server's own name, and why others are left out."""
    tools: dict[str, tuple[OfferedTool, str]] = {}
    refused: list[str] = []
    for each in listed:
        # Servers may use dots and slashes, models may not.
        name = f"{server.name}__{re.sub('[./]', '_', each.name)}"
        if not _NAME.fullmatch(name):
            refused.append(f"{each.name[:64]!r} has a name that models cannot write")
        elif name in tools:
            refused.append(f"{each.name!r} has the name of another tool")
        elif len(each.description or "") + len(_json(each.input_schema)) > LONGEST:
            refused.append(f"{each.name!r} describes itself in more than {LONGEST:,} characters")
        else:
            tools[name] = _offered(server, name, each), each.name
    refused[5:] = [f"{len(refused) - 5} more"] if refused[5:] else []
    problem = f"Left out: {'; '.join(refused)}." if refused else ""
    return dict(tools.values()), problem or "It has no tools." * (not tools)


def _offered(server: ServerSettings, name: str, listed: "ListedTool") -> OfferedTool:
    notes = listed.annotations
    said = [listed.name, listed.title, listed.description, listed.input_schema,
            notes and notes.model_dump(mode="json")]  # fmt: skip
    fingerprint = hashlib.sha256(f"{server.identity}{_json(said)}".encode()).hexdigest()
    description = (listed.description or listed.title or "").replace("\0", "\ufffd")
    tool = Tool(name, description, _json(listed.input_schema))
    return OfferedTool(tool, server.name, bool(notes and notes.read_only_hint), fingerprint)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
