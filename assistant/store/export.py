"""Conversations as files: Markdown to read, JSON lines to keep everything and take it back."""

from assistant.store.jsonl import lines, read
from assistant.store.markdown import markdown

__all__ = ["lines", "markdown", "read"]
