"""A server written with the official package: `good_server.py`, or with a port for HTTP."""

import base64
import sys

from mcp.server.mcpserver import MCPServer
from mcp_types import (
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

server = MCPServer("good")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("it does not work")


@server.tool(structured_output=False)
def parts() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Return a text, an image and a resource."""
    resource = TextResourceContents(uri="note://1", text="a note")
    return [
        TextContent(type="text", text="a text"),
        ImageContent(type="image", mime_type="image/png", data=base64.b64encode(b"12345").decode()),
        EmbeddedResource(type="resource", resource=resource),
    ]


@server.tool()
def grow() -> str:
    """Offer one more tool from now on."""
    server.add_tool(lambda: "grown", name="grown", description="Say so.")
    return "done"


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
