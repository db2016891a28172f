"""Conversations on disk: a tree of messages each, how the answers were decoded, and a search."""

from assistant.store.files import place as place
from assistant.store.files import present as present
from assistant.store.store import Store as Store
from assistant.store.values import CANCELLED as CANCELLED
from assistant.store.values import INTERRUPTED as INTERRUPTED
from assistant.store.values import REFUSED as REFUSED
from assistant.store.values import Attachment as Attachment
from assistant.store.values import ChatSummary as ChatSummary
from assistant.store.values import FullConversation as FullConversation
from assistant.store.values import Record as Record
from assistant.store.values import State as State
from assistant.store.values import unsent as unsent
