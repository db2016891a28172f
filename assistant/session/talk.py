"""A conversation being had: what is said, the answers under way, and what follows from them."""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from assistant.events import Failed, ModelInfo
from assistant.request import Request
from assistant.service import EventStream
from assistant.session.answering import Answering
from assistant.session.asking import Asking
from assistant.session.calling import Calling
from assistant.session.events import (
    FullyAnswered,
    GivenBack,
    NeedsModel,
    Noted,
    PathShown,
    TalkEvent,
)
from assistant.session.shown_path import ShownPath
from assistant.session.tool_set import ToolSet
from assistant.store.values import Attachment, Record
from assistant.tools.values import ToolSettings
from models.errors import UsageError

if TYPE_CHECKING:
    from assistant.session.asked_folders import AskedFolders
    from assistant.store.store import Store


class Talk:
    """Have a conversation. Its methods are what the user does; `_live` does what follows.

    Each method changes the state at once, and tells by events what is to be shown. Answers and
    calls of tools run meanwhile, one at a time, in one coroutine.

    Args:
        tell: is given each event, in order, first those of the engine as they are. What it raises
            ends the conversation.
        do: has the engine answer.
        start: runs a coroutine in the client's event loop, where all methods are called.
        store: keeps what is said; None keeps nothing.
        tools: may be asked for by answers; None has none.
        asks: returns a request as the settings are now, of the system prompt alone if there is one.
        goes_on: whether a model that has asked for tools often enough answers in words, rather
            than the user being asked.
        writes: whether what is said is written to the store, or only read from it.
        folders: are searched for each question; None has none.
    """

    def __init__(
        self,
        tell: Callable[[TalkEvent], None],
        do: Callable[[Request], EventStream],
        start: Callable[[Coroutine[Any, Any, None]], object],
        store: "Store | None" = None,
        tools: ToolSet | None = None,
        asks: Callable[[], Request] = lambda: Request(()),
        goes_on: bool = False,
        writes: bool = True,
        folders: "AskedFolders | None" = None,
    ) -> None:

        def system() -> str:
            return "".join(message.content for message in asks().messages)

        self._tell, self._start = tell, start
        self.path = ShownPath(self._tell_path, store, system, writes)
        """The messages on the screen."""
        self.answering = Answering(tell, self.path)
        """The one under way."""
        self.calls = Calling(tell, self.path, tools or ToolSet(ToolSettings()), goes_on)
        """The calls at their end."""
        self.folders = folders
        """Those that questions are about."""
        self.asking = Asking(self._hear, do, self.path, self.calls, self.answering, asks)
        self._next: Callable[[], Coroutine[Any, Any, None]] | None = None  # answers what waits
        self._question: Record | None = None  # the one that it answers, if it was just sent
        self._lives = False  # whether `_live` runs

    @property
    def waits(self) -> bool:
        """Whether something is to be answered as soon as that is possible."""
        return self._next is not None

    @property
    def idle(self) -> bool:
        """Whether neither the engine nor a tool is at work, and nothing waits."""
        return not (self.answering.under_way or self.calls.running or self.waits)

    # The model

    def ready(self, model: ModelInfo) -> None:
        """Have a model answer from now on, beginning with what waits."""
        self.asking.model, self.asking.expects_model = model, False
        if self.waits:
            self._go()

    def no_model(self, reason: str) -> None:
        """Say why nothing can be answered, and give back what waits."""
        self.asking.model, self.asking.expects_model = None, False
        self._tell(Noted(reason, "error"))
        self.take_back()

    def keep_in(self, store: "Store") -> None:
        """Keep the conversation in a store from now on, and what was said until now."""
        moved = self.path.keep_in(store)
        self.answering.moved(moved)
        self.calls.moved(moved)
        if self._question is not None:
            self._question = moved.get(self._question.id, self._question)
        if moved:
            self._tell_path(PathShown(self.path.records))

    # What the user says

    def say(
        self, text: str, attachments: Sequence[Attachment] = (), instead_of: Record | None = None
    ) -> None:
        """Keep what the user says, at the end or `instead_of` an earlier question; answer it."""
        self._question = self.add_question(text, attachments, instead_of)
        self.answer()

    def add_question(
        self, text: str, attachments: Sequence[Attachment] = (), instead_of: Record | None = None
    ) -> Record:
        """Keep what the user says, without an answer. Calls that were not decided are refused."""
        if instead_of is not None and self.path.shows(instead_of):
            self.path.cut_before(instead_of)
        else:
            self.calls.refuse()
        is_new = self.path.conversation is None
        question = self.path.add_question(text, attachments)
        if is_new:
            self.calls.adopt()
        return question

    def answer(self) -> None:
        """Have the end of the path answered."""
        self._want(self.asking.answer)

    def answer_again(self, message: Record) -> None:
        """Have another answer beside this one, or ask about a call once more."""
        self.path.cut_before(message)
        if message.role != "tool":
            self.answer()

    def go_on(self, message: Record) -> None:
        """Continue with the last answer, which was cut, or after what a tool returned.

        Raises:
            UsageError: it is not the last message, or another program continued it.
            StorageError: it cannot be read.
        """
        if message.id != self.path.end:
            raise UsageError("Only the last answer can be continued; f forks here.")
        if not self.path.is_current(message):  # two would write over each other
            raise UsageError("Another specchat has continued it; f forks here.")
        if message.role != "tool":
            self._want(partial(self.asking.resume, self.path.trace(message.id)))
            return
        self.calls.grant()
        if self.calls.next is None:
            self.answer()
        else:
            self.calls.ask_no_more()  # and ask once more
            self._go()

    def open(self, conversation: int | None) -> None:
        """Show a conversation; None is a new one. What is under way is stopped, and kept.

        Raises:
            StorageError: it cannot be read; what is on the screen stays.
        """
        self.stop()
        self.path.open(conversation)

    def stop(self) -> None:
        """End the answer or the call, keep what there is, and take back what waits."""
        self.take_back()
        if self.asking.stream is not None:
            self.asking.stream.cancel()
        self.calls.stop()

    def take_back(self) -> None:
        """Give back the question that waits."""
        self._next = None
        record, self._question = self._question, None
        if record is not None:
            self.path.remove(record)
            self._tell(GivenBack(record.content, record.attachments))

    # The program

    def leave(self) -> None:
        """Keep what is under way as stopped: the program ends."""
        self.answering.end("stopped")
        self.calls.leave()

    # What follows

    async def _live(self) -> None:
        """Answer what waits, run what answers call for and answer that, until the user speaks."""
        try:
            while True:
                while self._next is None and (call := self.calls.next):
                    await self.calls.settle(call)
                if self._next is None and self.calls.want_answer():
                    self._next = self.asking.answer
                if self._next is None and self.calls.live:
                    self._tell(FullyAnswered())
                if self._next is None:
                    return
                if self.asking.model is None:  # `ready` goes on
                    if not self.asking.expects_model:
                        self._tell(NeedsModel())
                    return
                await self.calls.learn()
                if self.folders is not None:
                    await self.folders.look_up(self.path, self.asking.model, lambda: self.waits)
                if self._next is not None and self.asking.model:  # nor was it taken back
                    answer, self._next, self._question = self._next, None, None
                    await answer()
        finally:
            self._lives = False

    def _go(self) -> None:
        if not self._lives:
            self._lives = True
            self._start(self._live())

    def _want(self, answer: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.calls.ask_no_more()
        self._next = answer
        self._go()

    def _hear(self, event: TalkEvent) -> None:
        """Tell what the engine says; what waits would hang on an answer that may fail."""
        self._tell(event)
        if isinstance(event, Failed):
            self.take_back()

    def _tell_path(self, event: TalkEvent) -> None:
        self._tell(event)
        if isinstance(event, PathShown):  # nothing at its end runs unasked
            self.calls.recall()
            self.calls.live = False
            self.calls.ask_no_more()
            if self.calls.next:
                self._go()
