"""How much of a server is listened to, and for how long. Servers are not trusted."""

from assistant.tools.values import ToolResult

START_S = 60.0
"""Seconds in which a server has to start and list its tools; some are downloaded first."""
RETRY_S = 60.0
"""Seconds after which a server that did not start is tried again."""
CALL_S = 120.0
"""Seconds in which a call has to return."""
STOP_S = 1.0
"""Seconds in which a server may end by itself, and again after it is asked to."""

MESSAGE_BYTES = 4_000_000
"""Bytes of one message; the connection of a server that sends more is closed."""
UNASKED = 10_000
"""Messages between two calls: notifications, requests, garbage; one of them is the answer."""
STREAMS = 100
"""Connections by HTTP that wait for messages, one after another, between two requests."""
ERROR_BYTES = 65_536
"""Bytes that are kept of what a server wrote to its standard error: the last ones."""

PAGES = 20
"""Pages of a list of tools."""
TOOLS = 128
"""Tools of a server."""
NAME_CHARACTERS = 64
"""Characters of a tool's name, with the server's before it."""
DESCRIPTION_CHARACTERS = 8_000
"""Characters of a tool's description."""
SCHEMA_CHARACTERS = 20_000
"""Characters of the schema of a tool's arguments."""
SCHEMA_DEPTH = 32
"""Objects and lists within each other in that schema."""
RESULT_CHARACTERS = 12_000
"""Characters of a result: about 4,000 tokens."""
PROBLEM_CHARACTERS = 500
"""Characters of what is told of a server's problem, part of which are its own words."""

FILE_BYTES = 1_000_000
"""Bytes that are read of a file at once."""
ENTRIES = 10_000
"""Entries that are read of a folder."""
SEARCH_S = 10.0
"""Seconds of a search."""
MATCHES = 200
"""Lines that a search finds."""


def bounded(text: str, failed: bool = False) -> ToolResult:
    """Return a text as a result, cut to a length that a context can hold."""
    cut = text[:RESULT_CHARACTERS].replace("\0", "\ufffd")
    return ToolResult(cut, failed, len(text) - len(cut))
