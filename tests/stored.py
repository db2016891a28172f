"""Messages put into a store, as a conversation puts them there."""

import time
from collections.abc import Sequence
from typing import Any

from assistant.events import Trace
from assistant.request import ToolCall
from assistant.store.store import Store
from assistant.store.values import Attachment, StoredMessage


def ask(
    store: Store, conversation: int, parent: int | None, text: str, files: Sequence[Attachment] = ()
) -> StoredMessage:
    """Add a question."""
    question = StoredMessage(0, parent, "user", text, time.time(), "complete", (), tuple(files))
    return store.append(conversation, question)


def begin(store: Store, conversation: int, parent: int, model: str) -> StoredMessage:
    """Add an answer that is about to stream."""
    empty = StoredMessage(0, parent, "assistant", "", time.time(), "streaming", model=model)
    return store.append(conversation, empty)


def call(store: Store, conversation: int, parent: int, called: ToolCall) -> StoredMessage:
    """Add a call that is about to run."""
    empty = StoredMessage(0, parent, "tool", "", time.time(), "streaming", tool_calls=(called,))
    return store.append(conversation, empty)


def end(
    store: Store, answer: int, text: str, trace: Trace = (), state: Any = "complete", **more: Any
) -> StoredMessage:
    """End an answer or a call."""
    return store.update(StoredMessage(answer, None, "assistant", text, 0.0, state, **more), trace)


def stream(store: Store, answer: int, text: str, trace: Trace = (), thought: str = "") -> None:
    """Store an answer that is under way."""
    end(store, answer, text, trace, "streaming", thought=thought)
