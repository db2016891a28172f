"""The stored conversation that a question at the shell continues."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from assistant.store import Store, place, present
from models.errors import UsageError
from tui.settings.settings import Settings

LAST, NEW = "last", "new"


@dataclass(frozen=True, slots=True)
class ContinuedChat:
    """A conversation, and the store it is in."""

    store: Store
    number: int | None  # None: a new one
    keeps: bool  # whether the question and its answer become part of it


@contextmanager
def continued_chat(chat: str, settings: Settings) -> Iterator[ContinuedChat]:
    """Open the conversation that `chat` names: a number, the last one, or a new one.

    Raises:
        UsageError: there is no such conversation.
        StorageError: the conversations cannot be read, or what is said cannot be kept.
    """
    path, keeps = place(), settings.save
    store = Store(path if present(path) or (keeps and chat == NEW) else None)
    try:
        yield ContinuedChat(store, _number(store, chat), keeps)
    finally:
        store.close()


def _number(store: Store, chat: str) -> int | None:
    if chat == NEW:
        return None
    number = store.newest() if chat == LAST else int(chat)
    if number is None or not store.is_there(number):
        which = "no conversation yet" if chat == LAST else f"no conversation {chat}"
        raise UsageError(f"There is {which}. specchat chats lists them; --chat {NEW} begins one.")
    return number
