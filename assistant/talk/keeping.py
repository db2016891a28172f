"""Where the messages of a conversation are kept: in the store, or in values alone."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from assistant.request import ToolCall
from assistant.store.values import Attachment, Record
from assistant.talk.answer_so_far import AnswerSoFar
from assistant.tokens import Trace
from assistant.tools.values import ToolResult
from models.errors import StorageError

if TYPE_CHECKING:
    from assistant.store import Store

Kept = TypeVar("Kept")


class Keeping:
    """Keep what is said in a store for as long as it can be written.

    When a write fails, `failed` is told once, and messages are values from then on: the
    conversation goes on, and is not saved. Such messages have negative numbers.

    Args:
        store: None keeps nothing.
        failed: is told why the conversation is not saved.
        may_write: whether the store is written, or only read.
    """

    def __init__(
        self,
        store: "Store | None",
        failed: Callable[[StorageError], None],
        may_write: bool = True,
    ) -> None:
        self.store, self._may_write = store, may_write
        self._failed = failed
        self._numbers = count(-1, -1)
        self._traces: dict[int, Trace] = {}  # of answers that are values
        self._streaming = Lock()  # an older state must not be written after the end
        self.writes = store is not None and may_write
        """Whether what is said is written to the store."""

    @property
    def saves(self) -> bool:
        """Whether what is said outlives the program."""
        return self.writes and self.store is not None and self.store.saves

    def try_again(self) -> None:
        """Write to the store again: what is said next belongs to another conversation."""
        self.writes = self.store is not None and self._may_write

    def move_to(
        self, store: "Store", path: Sequence[Record], system: str
    ) -> tuple[int | None, dict[int, Record]]:
        """Keep what is said in a store from now on, and the path so far.

        Returns the number of the conversation there, and the records of the path as they are
        there, by the numbers they had.
        """
        self.store, self.writes = store, True
        moved: dict[int, Record] = {}
        conversation = self.begin(system) if path else None
        for record in path:
            parent = moved[record.parent].id if record.parent in moved else None
            moved[record.id] = self._copied(record, conversation, parent)
        return conversation, moved

    def _copied(self, record: Record, conversation: int | None, parent: int | None) -> Record:
        if parent is None or record.role == "user":
            return self.ask(conversation, parent, record.content, record.attachments)
        if record.role == "tool":
            new = self.begin_call(conversation, parent, record.calls[0])
            end = ToolResult(record.content, record.state, record.stop)
            return new if record.state == "streaming" else self.returned(new, end, record.seconds)
        new = self.begin_answer(conversation, parent, record.model)
        if record.state == "streaming":
            return new
        answer = AnswerSoFar(new, self._traces.get(record.id, ()))
        return self.end(answer, replace(record, id=new.id, parent=parent, siblings=new.siblings))

    def begin(self, system: str) -> int | None:
        """Make a conversation; None: it is not in the store."""
        return self._kept(lambda store: store.begin(system=system), lambda: None)

    def ask(
        self,
        conversation: int | None,
        parent: int | None,
        text: str,
        attachments: Sequence[Attachment] = (),
    ) -> Record:
        """Keep a question."""
        number = conversation or 0
        asked = Record(0, parent, "user", text, time.time(), "complete")
        return self._kept(
            lambda store: store.ask(number, parent, text, attachments),
            lambda: self._numbered(replace(asked, attachments=tuple(attachments))),
        )

    def begin_answer(self, conversation: int | None, parent: int, model: str) -> Record:
        """Make room for an answer that is about to stream."""
        empty = Record(0, parent, "assistant", "", time.time(), "streaming", model=model)
        return self._kept(
            lambda store: store.answers.begin(conversation or 0, parent, model),
            lambda: self._numbered(empty),
        )

    def begin_call(self, conversation: int | None, parent: int, call: ToolCall) -> Record:
        """Make room for the result of a call that is about to run."""
        empty = Record(0, parent, "tool", "", time.time(), "streaming", calls=(call,))
        return self._kept(
            lambda store: store.answers.call(conversation or 0, parent, call),
            lambda: self._numbered(empty),
        )

    def stream(self, answer: AnswerSoFar) -> None:
        """Keep what there is of an answer, unless it is over; may be called on any thread."""
        with self._streaming:
            if self.writes and self.store is not None and not answer.is_over:
                record, trace = answer.record, answer.trace
                self.store.answers.stream(record.id, answer.text, trace, answer.thought)

    def end(self, answer: AnswerSoFar, ended: Record) -> Record:
        """Keep an answer that is over."""
        with self._streaming:
            answer.is_over = True
            whole = ended.token_ids, answer.trace, ended.stats, ended.stop, ended.state
            rest = ended.thought, ended.calls
            self._traces[ended.id] = answer.trace
            return self._kept(
                lambda store: store.answers.end(ended.id, ended.content, *whole, *rest),
                lambda: ended,
            )

    def returned(self, result: Record, end: ToolResult, seconds: float) -> Record:
        """Keep how a call ended."""
        how = end.text, end.state, end.stop, seconds
        return self._kept(
            lambda store: store.answers.returned(result.id, *how),
            lambda: replace(
                result, content=end.text, state=end.state, stop=end.stop, seconds=seconds
            ),
        )

    def drop(self, record: Record) -> None:
        """Hide a message and all that follows it."""
        self._kept(lambda store: store.drop(record.id), lambda: None)

    def trace(self, answer: int) -> Trace:
        """Return how an answer was decoded; empty for one that was not decoded here."""
        if self.store is None or answer < 0:
            return self._traces.get(answer, ())
        return self.store.answers.trace(answer)

    def _kept(self, keep: "Callable[[Store], Kept]", value: Callable[[], Kept]) -> Kept:
        if self.writes and self.store is not None:
            try:
                return keep(self.store)
            except StorageError as error:
                self.writes = False
                self._failed(error)
        return value()

    def _numbered(self, record: Record) -> Record:
        number = next(self._numbers)
        return replace(record, id=number, siblings=(number,))
