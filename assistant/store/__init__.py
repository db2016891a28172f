"""Conversations on disk: a tree of messages each, how the answers were decoded, and a search."""

from typing import TYPE_CHECKING, Any

from assistant.store.files import place as place
from assistant.store.files import present as present
from assistant.store.values import CANCELLED as CANCELLED
from assistant.store.values import INTERRUPTED as INTERRUPTED
from assistant.store.values import REFUSED as REFUSED
from assistant.store.values import Attachment as Attachment
from assistant.store.values import ChatSummary as ChatSummary
from assistant.store.values import FullConversation as FullConversation
from assistant.store.values import Record as Record
from assistant.store.values import State as State
from assistant.store.values import unsent as unsent

if TYPE_CHECKING:
    from assistant.store.store import Store as Store


def __getattr__(name: str) -> Any:
    """Import the store when it is first used: a chat begins, and `ask` ends, without SQLite."""
    if name != "Store":
        raise AttributeError(name)
    from assistant.store.store import Store

    return Store
