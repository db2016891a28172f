"""What was not sent yet: the text being typed, with its attachments, and the queue."""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, Protocol

from assistant.session.chat_session import ChatSession
from assistant.store.values import Attachment, StoredMessage, unsent
from models.errors import StorageError

OPEN, EDITED = "open", "edited"  # notes: the conversation on the screen, the question changed


@dataclass(frozen=True, slots=True)
class Unsent:
    """A prompt that was not sent to the model yet: its text and its attachments."""

    text: str
    attachments: tuple[Attachment, ...] = ()


class _Prompt(Protocol):
    """The input; `insert` puts a prompt before what was typed since, and `drop` clears all."""

    queued: tuple[Unsent, ...]

    @property
    def typed(self) -> Unsent: ...
    def insert(self, unsent: Unsent) -> None: ...
    def drop(self) -> None: ...
    def show_edit(self, is_edit: bool) -> None: ...


class UnsentText:
    """Submit what is in the prompt, or remember it while the user is elsewhere.

    It is a new question of the conversation on the screen, or a change of an earlier one. A change
    that is left is restored when the user comes back to it. Questions that are sent while another
    is answered wait in a queue. Each conversation, and each question, has its own text and queue.
    """

    def __init__(self, prompt: _Prompt, session: ChatSession) -> None:
        self._prompt, self._session, self._branch = prompt, session, session.branch
        self.question: StoredMessage | None = None
        """The earlier question that is being changed."""
        self._original = ""  # the prompt's state before the question was changed
        self._key, self._saving = unsent(None, None), Lock()
        self._states: dict[str, str] = {}  # by key, as they were left
        self._stored: dict[str, str] = {}  # those in the store

    def load(self) -> None:
        """Restore what was unsent when the app ended; text typed since follows it."""
        self._states.clear()  # a store's conversations have other numbers
        self._follow()

    def switch(self) -> None:
        """Switch to the conversation on the screen, or to the question that is changed."""
        if self._here != self._key:
            self._states[self._key] = self._state
            self._prompt.drop()
            self._follow()

    def change(self, question: StoredMessage) -> None:
        """Put a question into the prompt, with the changes that it had when it was last left."""
        self.question = question
        self._prompt.show_edit(is_edit=True)
        self.switch()
        if not self._state:
            self._prompt.insert(Unsent(question.content, question.attachments))
            self._original = self._state

    def leave(self) -> bool:
        """Leave the question as it was; return whether a change of it is remembered."""
        changed = self._state not in ("", self._original)
        question, self.question, self._original = self.question, None, ""
        self._prompt.show_edit(is_edit=False)
        if question is None:
            return False
        left = self._key
        self.switch()
        if not changed:
            self._states[left] = ""
        return changed

    @property
    def replaced(self) -> StoredMessage | None:
        """The question that the prompt replaces when it is sent."""
        # It may have been deleted, or another branch chosen, since it was put into the prompt.
        return self.question if self.question and self._branch.shows(self.question) else None

    def submit(self, unsent: Unsent) -> None:
        """Have a question answered, or queue it while there is no store, or another is answered.

        A change of an earlier question waits only for a question that was not answered yet.
        """
        if self.may_submit or (self.question and not self._session.waits):
            self._session.submit(unsent.text, unsent.attachments, self.replaced)
            self._states[self._key] = ""
            self.question, self._original = None, ""
            self._prompt.show_edit(is_edit=False)
            self._follow()  # with what was typed since
        else:
            self._prompt.queued = (*self._prompt.queued, unsent)

    def submit_next(self) -> None:
        """Submit the first question in the queue, unless an earlier one is being changed."""
        if self._prompt.queued and self.may_submit and not self.question:
            first, *others = self._prompt.queued
            self._prompt.queued = tuple(others)
            self.submit(first)

    @property
    def may_submit(self) -> bool:
        """Whether a question is answered at once: there is a store, and nothing is under way."""
        return self._branch.store is not None and self._session.idle

    def question_returned(self) -> None:
        """Follow a question that was withdrawn: with the only one, its conversation is gone."""
        self._key = self._here

    def save(self, **notes: str) -> None:
        """Save `notes`, where the user is and what has changed, on any thread; or StorageError."""
        store, number, question = self._branch.store, self._branch.conversation, self.question
        with self._saving:  # so that no older state follows a newer one
            states = self._states | {self._key: self._state} | notes
            states |= {OPEN: str(number or ""), EDITED: str(question.id) if question else ""}
            for key, state in states.items():
                if store is not None and state != self._stored.get(key):
                    store.remember(key, state)
                    self._stored[key] = state

    @property
    def _state(self) -> str:
        """What is in the prompt, as JSON; empty when there is nothing."""
        typed, queue = self._prompt.typed, self._prompt.queued
        return to_json(typed, queue) if queue or typed != Unsent("") else ""

    def _follow(self) -> None:
        """Restore what was left where the user is now, before what was typed since.

        What cannot be read stays in the store.
        """
        key, store = self._here, self._branch.store
        self._key = key
        if key not in self._states:
            self._states[key] = self._stored[key] = ""
            with suppress(StorageError):
                left = store.recall(key) if store is not None else None
                self._states[key] = self._stored[key] = left or ""
        if state := self._states[key]:
            unsent, queue = from_json(state)
            self._prompt.insert(unsent)
            self._prompt.queued = (*queue, *self._prompt.queued)

    @property
    def _here(self) -> str:
        return unsent(self._branch.conversation, self.question.id if self.question else None)


def to_json(unsent: Unsent, queue: Iterable[Unsent] = ()) -> str:
    """Return the text being typed and the queue as JSON."""
    attachments, waiting = _attachments_json(unsent.attachments), map(to_json, queue)
    text = f'"text": {json.dumps(unsent.text)}, "attachments": {attachments}'
    return f'{{{text}, "line": [{", ".join(waiting)}]}}'


def from_json(state: str) -> tuple[Unsent, tuple[Unsent, ...]]:
    """Return the text and the queue from the JSON of `to_json`; empty if it is invalid."""
    try:
        unsent = json.loads(state)
        return _unsent(unsent), tuple(map(_unsent, unsent.get("line", ())))
    except (ValueError, TypeError, KeyError, AttributeError):
        return Unsent(""), ()


def _unsent(fields: Any) -> Unsent:
    attached = tuple(Attachment(str(name), str(text)) for name, text in fields["attachments"])
    return Unsent(str(fields["text"]), attached)


@lru_cache(maxsize=9)  # megabytes that stay the same while the text changes
def _attachments_json(attachments: tuple[Attachment, ...]) -> str:
    return json.dumps([[attachment.name, attachment.text] for attachment in attachments])
