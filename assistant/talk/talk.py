"""A conversation being had: what is said, the answers under way, and what follows from them."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from assistant.events import Failed, Finished, Stop
from assistant.request import Message, Request
from assistant.service import EventStream
from assistant.store.values import Attachment, Record
from assistant.talk.answering import Answering, AnswerSoFar
from assistant.talk.calling import Calling
from assistant.talk.events import (
    Changed,
    FullyAnswered,
    GivenBack,
    NeedsModel,
    Noted,
    PathShown,
    TalkEvent,
)
from assistant.talk.messages import ECHO, joined, messages_of, open_calls, without_more_calls
from assistant.talk.shown_path import ShownPath
from assistant.talk.tool_set import ToolSet
from assistant.tokens import Trace
from assistant.tools.values import ToolSettings
from models.errors import UsageError

if TYPE_CHECKING:
    from assistant.events import ModelInfo
    from assistant.store.store import Store
    from assistant.talk.asked_folders import AskedFolders


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
        asks: returns a request without messages, as the settings are now.
        system: returns the system prompt of a new conversation.
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
        system: Callable[[], str] = lambda: "",
        goes_on: bool = False,
        writes: bool = True,
        folders: "AskedFolders | None" = None,
    ) -> None:
        self._tell, self._do, self._start, self._asks = tell, do, start, asks
        self.path = ShownPath(self._tell_path, store, system, writes)
        """The messages on the screen."""
        self.answers = Answering(tell, self.path)
        """Those under way."""
        self.calls = Calling(tell, self.path, tools or ToolSet(ToolSettings()), goes_on)
        """The calls at their end."""
        self.folders = folders
        """Those that questions are about."""
        self.model: ModelInfo | None = None
        """The target that answers; None: none is loaded."""
        self.expects_model = True
        """Whether a model is being looked for or loaded."""
        self.stream: EventStream | None = None
        """That of the answers under way."""
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
        return not (self.answers.under_way or self.calls.running or self.waits)

    # The model

    def expect_model(self) -> None:
        """Note that a model is being looked for or loaded."""
        self.model, self.expects_model = None, True

    def ready(self, model: "ModelInfo") -> None:
        """Have a model answer from now on, beginning with what waits."""
        self.model, self.expects_model = model, False
        if self.waits:
            self._go()

    def no_model(self, reason: str) -> None:
        """Say why nothing can be answered, and give back what waits."""
        self.model, self.expects_model = None, False
        self._tell(Noted(reason, "error"))
        self.take_back()

    def keep_in(self, store: "Store") -> None:
        """Keep the conversation in a store from now on, and what was said until now."""
        moved = self.path.keep_in(store)
        self.answers.moved(moved)
        self.calls.moved(moved)
        if self._question is not None:
            self._question = moved.get(self._question.id, self._question)
        if moved:
            self._tell_path(PathShown(self.path.records))

    # What the user says

    def say(
        self,
        text: str,
        attachments: Sequence[Attachment] = (),
        instead_of: Record | None = None,
    ) -> None:
        """Keep what the user says, at the end or `instead_of` an earlier question; answer it."""
        self._question = self.add_question(text, attachments, instead_of)
        self.answer()

    def add_question(
        self,
        text: str,
        attachments: Sequence[Attachment] = (),
        instead_of: Record | None = None,
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
        self._want(self._answer)

    def answer_again(self, message: Record) -> None:
        """Have another answer beside this one, or ask about a call once more."""
        self.path.cut_before(message)
        if message.role != "tool":
            self.answer()

    def several(self, count: int) -> None:
        """Have some answers to the last question at once; nothing else may be under way."""
        self._want(partial(self._answer_several, count))

    def go_on(self, message: Record) -> None:
        """Continue with the last answer, which was cut, or after what a tool returned.

        Raises:
            UsageError: it is not the last message, or another program continued it.
            StorageError: it cannot be read.
        """
        if message.id != self.path.end:
            raise UsageError("Only the last answer can be continued; f copies up to here.")
        if not self.path.is_current(message):  # two would write over each other
            raise UsageError("Another specchat has continued it; f copies up to here.")
        if message.role != "tool":
            self._want(partial(self._resume, self.path.trace(message.id)))
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
        if self.stream is not None:
            self.stream.cancel()
        self.calls.stop()

    def take_back(self) -> None:
        """Give back the question that waits."""
        self._next = None
        record, self._question = self._question, None
        if record is not None:
            self.path.remove(record)
            self._tell(GivenBack(record.content, record.attachments))

    def race_request(self, text: str, attachments: Sequence[Attachment] = ()) -> Request | None:
        """Return what a race answers: `text` after the path, or else the last question."""
        path, added = self.path.records, joined(text, attachments)
        while not added and path and path[-1].role != "user":
            path = path[:-1]
        if not added and not path:
            return None
        request = self._request(path, added=(Message("user", added),) if added else ())
        return replace(request, stored=False, tools=())

    def next_request(
        self,
        text: str,
        attachments: Sequence[Attachment] = (),
        instead_of: Record | None = None,
    ) -> Request | None:
        """Return what would be asked if `text` were sent now, or once a call has returned.

        None: that is not known, because no tools were listed yet.
        """
        if self.calls.wanted and not self.calls.tools.known:
            return None
        path = self.path.records
        if instead_of is not None:
            path = path[: [record.id for record in path].index(instead_of.id)]
        calls = open_calls(path)
        if calls and path[-1].role == "tool":
            return self._request(path)
        result = Message("tool", "", call_id=calls[0].id) if calls else None
        return self._request(path, added=(result or Message("user", joined(text, attachments)),))

    # The program

    def leave(self) -> None:
        """Keep what is under way as stopped: the program ends."""
        self.answers.end("stopped")
        self.calls.leave()

    # What follows

    async def _live(self) -> None:
        """Answer what waits, run what answers call for and answer that, until the user speaks."""
        try:
            while True:
                while self._next is None and (call := self.calls.next):
                    await self.calls.settle(call)
                if self._next is None and self.calls.want_answer():
                    self._next = self._answer
                if self._next is None and self.calls.live:
                    self._tell(FullyAnswered())
                if self._next is None:
                    return
                if self.model is None:  # `ready` goes on
                    if not self.expects_model:
                        self._tell(NeedsModel())
                    return
                await self.calls.learn()
                await self._look_up()
                if self._next is not None and self.model is not None:  # nor was it taken back
                    answer, self._next, self._question = self._next, None, None
                    await answer()
        finally:
            self._lives = False

    def _go(self) -> None:
        """Have `_live` run."""
        if not self._lives:
            self._lives = True
            self._start(self._live())

    def _want(self, answer: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.calls.ask_no_more()
        self._next = answer
        self._go()

    def _tell_path(self, event: TalkEvent) -> None:
        self._tell(event)
        if isinstance(event, PathShown):  # nothing at its end runs unasked
            self.calls.recall()
            self.calls.live = False
            self.calls.ask_no_more()
            if self.calls.next:
                self._go()

    async def _look_up(self) -> None:
        """Put what folders say about the question at the end before it, unless that was done."""
        asked, model = self.path.leaf, self.model
        if self.folders is None or model is None or asked is None or asked.role != "user":
            return
        if any(each.number for each in asked.attachments):
            return
        before = self.path.records[:-1]
        found = await self.folders.find(asked.content, asked.attachments, before, model)
        question = self.path.leaf
        if self._next is None or question is None or question.content != asked.content:
            return  # it was taken back
        for note in self.folders.notes(question.attachments, found):
            self._tell(Noted(note))
        if found:
            passages = (*question.attachments, *found)
            self._tell(Changed(self.path.end_message(replace(question, attachments=passages))))

    # Answers

    async def _answer(self, plainly: bool = False) -> None:
        path, record = self.path.records, self.path.append(self._empty())
        request = self._request(path, again=len(record.siblings) - 1)
        request = replace(request, tools=()) if plainly else request
        await self._follow([AnswerSoFar(record)], request)
        said = self.path.leaf if request.tools and self.calls.live else None
        if said is not None and said.content.lstrip().startswith(ECHO):
            self.path.cut_before(said)
            self._tell(Noted("The model repeated its list of tools. It answers without them now."))
            await self._answer(plainly=True)

    async def _answer_several(self, count: int) -> None:
        records = self.path.keep_beside(self._empty(), count)
        request = self._request(self.path.records, again=len(records[0].siblings) - 1)
        await self._follow(map(AnswerSoFar, records), replace(request, answers=count, tools=()))

    async def _resume(self, before: Trace) -> None:
        record = self.path.records[-1]
        self.path.claim(record, before)
        request = self._request(self.path.records)
        await self._follow([AnswerSoFar(record, before)], request)

    def _empty(self) -> Record:
        name = self.model.name if self.model else ""
        return Record(0, self.path.end, "assistant", "", time.time(), "streaming", model=name)

    def _request(
        self, path: Sequence[Record], again: int = 0, added: tuple[Message, ...] = ()
    ) -> Request:
        """Return what the engine needs to answer, or to continue with, the end of a path.

        `again` counts the answers there are already to the question; `added` follows the path.
        """
        asked, name = self._asks(), self.model.name if self.model else ""
        messages = (*messages_of(path, self.path.system, name), *added)
        asked = replace(
            asked,
            messages=messages,
            seed=None if asked.seed is None else asked.seed + max(0, again),  # another answer
            stored=self.path.saves,
            tools=self.calls.tools.tools(self.path.conversation) if self.calls.wanted else (),
        )
        if not self.calls.in_words:
            return asked
        return replace(asked, messages=without_more_calls(messages), tool_choice="none")

    async def _follow(self, answers: Iterable[AnswerSoFar], request: Request) -> None:
        """Have the engine answer, and keep and show what it says."""
        answers, event, self.calls.live = tuple(answers), None, False
        self.stream = self._do(request)
        self.answers.begin(answers)
        async for event in self.stream:
            self._tell(event)
            if isinstance(event, Failed):
                self.take_back()  # it would hang on an answer that may fail
            self.answers.hear(event)
            await asyncio.sleep(0)  # keys come first, however many events there are
        self.stream = None
        ended = isinstance(event, Finished) and event.stop is not Stop.CANCELLED
        self.calls.live = ended and self.path.end == answers[0].record.id
