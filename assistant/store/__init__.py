"""Conversations on disk: a tree of messages each, how the answers were decoded, and a search."""

from assistant.store.files import place, present
from assistant.store.store import Store
from assistant.store.values import (
    CANCELLED,
    INTERRUPTED,
    REFUSED,
    Attachment,
    ChatSummary,
    FullConversation,
    Record,
    State,
    unsent,
)

__all__ = [
    "CANCELLED",
    "INTERRUPTED",
    "REFUSED",
    "Attachment",
    "ChatSummary",
    "FullConversation",
    "Record",
    "State",
    "Store",
    "place",
    "present",
    "unsent",
]
