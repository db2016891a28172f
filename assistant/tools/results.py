"""What a call returned, as a text that a context can hold."""

import json

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from assistant.tools.limits import bounded
from assistant.tools.values import ToolResult


def result_of(returned: CallToolResult) -> ToolResult:
    """Return a server's result: its texts, and a line for each thing that is none."""
    parts = [_part(each) for each in returned.content]
    if not parts and returned.structured_content is not None:
        parts = [json.dumps(returned.structured_content, ensure_ascii=False)]
    return bounded("\n".join(parts), failed=returned.is_error)


def _part(block: ContentBlock) -> str:
    match block:
        case TextContent(text=text) | EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case ImageContent(mime_type=kind, data=data) | AudioContent(mime_type=kind, data=data):
            return f"[{kind}, {_size(data)}, left out]"
        case ResourceLink(uri=uri):
            return f"[resource {uri}]"
        case EmbeddedResource(resource=held):
            assert isinstance(held, BlobResourceContents)
            return f"[{held.mime_type} {held.uri}, {_size(held.blob)}, left out]"


def _size(base64: str) -> str:
    return f"{len(base64) * 3 // 4 - base64[-2:].count('='):,} bytes"
