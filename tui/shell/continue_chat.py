"""A stored conversation that a question at the shell continues with."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from assistant.events import Decoded, Finished, ModelInfo
from assistant.request import Request, ToolCall
from assistant.store import Record, Store, place, present
from models.errors import UsageError
from tui.chat.answer_writer import AnswerWriter
from tui.chat.chat_request import inquiry
from tui.chat.tools.calls import End
from tui.settings.settings import Settings

LAST, NEW = "last", "new"
SAVED_EVERY_S = 1.0


class Continuing:
    """Take the context from a conversation, and save the exchange in it."""

    def __init__(self, store: Store, number: int, keeps: bool) -> None:
        self.number = number
        self.notice = store.notice
        self._store, self._keeps = store, keeps
        self._answers: list[AnswerWriter] = []
        self._result: Record | None = None  # the last one, which the next answer follows
        self._saved = monotonic()
        if keeps and store.enter(number):
            self.notice = f"Conversation {number} is open in another specchat, too."

    def ask(self, question: str, model: ModelInfo, settings: Settings, answers: int = 1) -> Request:
        """Return the request for some answers; the question is on disk before it is made.

        The conversation is at the first of them.
        """
        path, store = self._store.path(self.number), self._store
        parent = path[-1].id if path else None
        if self._keeps:
            asked = store.ask(self.number, parent, question)
            records = [
                store.answers.begin(self.number, asked.id, model.name) for _ in range(answers)
            ]
            store.choose(records[0].id)
            self._answers = [AnswerWriter(record) for record in records]
        else:
            asked = Record(0, parent, "user", question, 0.0, "complete")
        system = store.system(self.number)
        whole = (*path, asked)
        return inquiry(
            whole, system, model.name, settings.mode, settings, stored=self._keeps and store.saves
        )

    def add(self, event: Decoded, number: int = 0) -> None:
        """Take a round of an answer, and save what there is now and then."""
        if not self._keeps:
            return
        self._answers[number].add(event)
        if monotonic() - self._saved > SAVED_EVERY_S:
            self._saved = monotonic()
            for answer in self._answers:
                answer.keep(self._store)

    def finish(self, event: Finished, number: int = 0) -> None:
        """Take the end of an answer."""
        if self._keeps and not self._answers[number].is_nothing(event):
            self._answers[number].finish(self._store, event)

    def call(self, call: ToolCall) -> None:
        """Make room for the result of a call of the last answer."""
        if self._keeps:
            parent = self._result or self._answers[0].record
            self._result = self._store.answers.call(self.number, parent.id, call)

    def returned(self, end: End, seconds: float) -> None:
        """Keep how it ended."""
        if self._keeps and self._result is not None:
            self._store.answers.returned(self._result.id, *end, seconds)

    def again(self, model: ModelInfo) -> None:
        """Begin the answer to the results."""
        if self._keeps and self._result is not None:
            record = self._store.answers.begin(self.number, self._result.id, model.name)
            self._answers, self._result = [AnswerWriter(record)], None

    def close(self) -> None:
        """Save what there is of answers that did not finish."""
        for answer in self._answers:
            answer.close(self._store, "failed")


@contextmanager
def continuing(chat: str, settings: Settings) -> Iterator[Continuing]:
    """Open the conversation that `chat` names: a number, the last one, or a new one.

    Raises:
        UsageError: there is no such conversation.
        StorageError: the conversations cannot be read, or what is said cannot be kept.
    """
    path = place()
    keeps = settings.save
    store = Store(path if present(path) or (keeps and chat == NEW) else None)
    try:
        continued = Continuing(store, _number(store, chat, settings), keeps)
        try:
            yield continued
        finally:
            continued.close()
    finally:
        store.close()


def _number(store: Store, chat: str, settings: Settings) -> int:
    if chat == NEW:
        return store.begin(system=settings.system or "")
    number = store.newest() if chat == LAST else int(chat)
    if number is None or not store.is_there(number):
        which = "no conversation yet" if chat == LAST else f"no conversation {chat}"
        raise UsageError(f"There is {which}. specchat chats lists them; --chat {NEW} begins one.")
    return number
