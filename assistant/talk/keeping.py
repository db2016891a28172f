"""Where the messages of a conversation are kept: in the store, or in values alone."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from assistant.store.values import Record
from assistant.tokens import Trace
from models.errors import StorageError

if TYPE_CHECKING:
    from assistant.store import Store
    from assistant.talk.answer_so_far import AnswerSoFar

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
            new = self.add(conversation, replace(record, parent=parent))
            if record.state != "streaming":
                new = self.end(new, self._traces.get(record.id, ()))
            moved[record.id] = new
        return conversation, moved

    def begin(self, system: str) -> int | None:
        """Make a conversation; None: it is not in the store."""
        return self._kept(lambda store: store.begin(system=system), lambda: None)

    def add(self, conversation: int | None, record: Record) -> Record:
        """Keep a question, or make room for an answer or a result to come; return it numbered."""
        number = next(self._numbers)
        return self._kept(
            lambda store: store.append(conversation or 0, record),
            lambda: replace(record, id=number, siblings=(number,)),
        )

    def stream(self, answer: "AnswerSoFar") -> None:
        """Keep what there is of an answer, unless it is over; may be called on any thread."""
        with self._streaming:
            if self.writes and self.store is not None and not answer.is_over:
                record, trace = answer.record, answer.trace
                self.store.answers.stream(record.id, answer.text, trace, answer.thought)

    def end_answer(self, answer: "AnswerSoFar", ended: Record) -> Record:
        """Keep an answer that is over."""
        with self._streaming:
            answer.is_over = True
            self._traces[ended.id] = answer.trace
            return self.end(ended, answer.trace)

    def end(self, ended: Record, trace: Trace = ()) -> Record:
        """Keep how an answer or a call ended."""
        return self._kept(lambda store: store.answers.end(ended, trace), lambda: ended)

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
