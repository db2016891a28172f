"""A conversation being had: what is said, the answers under way, and what follows from them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.events import Answered, Decoded, Failed, Finished, Noticed, OneOf, Prepared, Stop
from assistant.request import Message, Request
from assistant.store.values import Attachment, Record, State
from assistant.talk.answer_so_far import AnswerSoFar
from assistant.talk.calls import calls_since_question, open_calls, repeats_earlier_calls
from assistant.talk.effects import (
    AnswerBegun,
    AnswerEnded,
    AnswerGrew,
    AnswerResumed,
    AnswersEnded,
    AskEngine,
    Effect,
    FindModel,
    GivenBack,
    Noted,
    PathOpened,
    StopEngine,
)
from assistant.talk.messages import joined, messages_of, without_more_calls
from assistant.talk.shown_path import ShownPath
from assistant.talk.tool_rounds import Decision, ToolRounds
from assistant.talk.tool_set import ToolSet, ToolSettings
from models.errors import UsageError

if TYPE_CHECKING:
    from assistant.events import ModelInfo
    from assistant.store import Store
    from assistant.tools.values import ToolResult


class Talk:
    """Have a conversation. Its methods are what the user, the engine and the tools do.

    Each method changes the state at once and says by effects what is to be shown or done; the
    client (a screen, a command) does it, and calls `hear`, `job_over`, `tools_learned` and
    `returned` with what came of it.

    Args:
        tell: is given each effect, in order. It must not raise, nor call back before the method
            that told has returned.
        store: keeps what is said; None keeps nothing.
        tools: may be asked for by answers; None has none.
        asks: returns a request without messages, as the settings are now.
        system: returns the system prompt of a new conversation.
        goes_on: whether a model that has asked for tools often enough answers in words, rather
            than the user being asked.
        writes: whether what is said is written to the store, or only read from it.
    """

    def __init__(
        self,
        tell: Callable[[Effect], None],
        store: "Store | None" = None,
        tools: ToolSet | None = None,
        asks: Callable[[], Request] = lambda: Request(()),
        system: Callable[[], str] = lambda: "",
        goes_on: bool = False,
        writes: bool = True,
    ) -> None:
        self._tell, self._asks = tell, asks
        self.path = ShownPath(self._tell_path, store, system, writes)
        """The messages on the screen."""
        self.rounds = ToolRounds(tell, self.path, tools or ToolSet(ToolSettings()), goes_on)
        """The calls at their end."""
        self.model: ModelInfo | None = None
        """The target that answers; None: none is loaded."""
        self.answers: tuple[AnswerSoFar, ...] = ()
        """Those under way, which may be of another conversation than that on the screen."""
        self.expects_model = True
        """Whether a model is being looked for or loaded."""
        self._next: Callable[[], None] | None = None  # begins an answer when that is possible
        self._question: Record | None = None  # the one of that answer, if it was just sent
        self._works = False  # whether the engine is at a job of this talk

    @property
    def waits(self) -> bool:
        """Whether something is to be answered as soon as that is possible."""
        return self._next is not None

    @property
    def busy(self) -> bool:
        """Whether the engine or a tool is at work."""
        return self._works or self.rounds.running

    @property
    def idle(self) -> bool:
        """Whether nothing is under way and nothing waits."""
        return not (self.busy or self.waits or self.answers)

    def so_far(self, record: Record) -> AnswerSoFar | None:
        """Return an answer that is under way; None for any other."""
        return next((each for each in self.answers if each.record.id == record.id), None)

    # The model

    def expect_model(self) -> None:
        """Note that a model is being looked for or loaded."""
        self.model, self.expects_model = None, True

    def ready(self, model: "ModelInfo") -> None:
        """Have a model answer from now on, beginning with what waits."""
        self.model, self.expects_model = model, False
        self._proceed()

    def no_model(self, reason: str) -> None:
        """Say why nothing can be answered, and give back what waits."""
        self.model, self.expects_model = None, False
        self._tell(Noted(reason, "error"))
        self.take_back()

    def keep_in(self, store: "Store") -> None:
        """Keep the conversation in a store from now on, and what was said until now."""
        moved = self.path.keep_in(store)
        for answer in self.answers:
            answer.record = moved.get(answer.record.id, answer.record)
        self.rounds.moved(moved)
        if self._question is not None:
            self._question = moved.get(self._question.id, self._question)

    # What the user says

    def say(
        self,
        text: str,
        attachments: Sequence[Attachment] = (),
        instead_of: Record | None = None,
    ) -> None:
        """Keep what the user says, at the end or `instead_of` an earlier question; answer it.

        Raises:
            UsageError: another question waits already.
        """
        if self.waits:
            raise UsageError("One message is waiting already; this one stays here.")
        self._question = self.add_question(text, attachments, instead_of)
        self._want(self._answer)

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
            self.rounds.refuse()
        return self.path.add_question(text, attachments)

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
        records = [self._begin() for _ in range(count)]
        if self.path.keeping.store is not None and self.path.keeping.writes:
            self.path.keeping.store.choose(records[0].id)
        for number, record in enumerate(records):
            self._tell(AnswerBegun(record, number))
        request = self._request(self.path.records, again=len(records[0].siblings) - 1)
        self._ask(map(AnswerSoFar, records), replace(request, answers=count, tools=()))

    def go_on(self, message: Record) -> None:
        """Continue with the last answer, which was cut, or after what a tool returned.

        Raises:
            UsageError: it is not the last message, or another program continued it.
        """
        if self.path.leaf is None or message.id != self.path.leaf.id:
            raise UsageError("Only the last answer can be continued; f copies up to here.")
        if not self.path.is_current(message):  # two would write over each other
            raise UsageError("Another specchat has continued it; f copies up to here.")
        if message.role != "tool":
            self._want(self._resume)
            return
        self.rounds.grant()
        if open_calls(self.path.records):
            self.rounds.appear()
        else:
            self.answer()

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
        if self._works:
            self._tell(StopEngine())
        self.rounds.stop()

    def take_back(self) -> None:
        """Give back the question that waits."""
        self._next = None
        record, self._question = self._question, None
        if record is not None:
            self.path.remove(record)
            self._tell(GivenBack(record.content, record.attachments))

    def race_request(self, text: str, attachments: Sequence[Attachment] = ()) -> Request | None:
        """Return what a race answers: `text` after the path, or else the last question."""
        path = self.path.records
        if not text.strip() and not attachments:
            while path and path[-1].role != "user":
                path = path[:-1]
            if not path:
                return None
        request = replace(self._request(path), stored=False, tools=())
        if path != self.path.records or not (text.strip() or attachments):
            return request
        question = Message("user", joined(text, attachments))
        return replace(request, messages=(*request.messages, question))

    # What the engine says

    def hear(self, event: object) -> None:
        """Take an event of the engine; those that concern no conversation are left to others."""
        match event:
            case Prepared(dropped_turns=dropped) if dropped:
                self.note(f"Left out, to fit the context: the oldest turns ({dropped}).")
            case Noticed(text):
                self.note(text)
            case Decoded():
                self._grow(0, event)
            case Finished():
                self._finish(0, event)
            case OneOf(number, Decoded() as round_):
                self._grow(number, round_)
            case OneOf(number, Finished() as end):
                self._finish(number, end)
            case Answered():
                self._end_all("stopped", event)
            case Failed(message):
                self.take_back()  # it would hang on an answer that may fail
                self._end_all("failed")
                self._tell(Noted(message, "error"))

    def job_over(self) -> None:
        """Note that the engine will say no more; do what waits or follows."""
        self._works = False
        self._proceed()

    # What the user and the tools do about calls

    def decide(self, decision: Decision) -> None:
        """Run the call that is asked about, or refuse it.

        Raises:
            StorageError: that it may run unasked cannot be kept; the call runs anyway.
        """
        self.rounds.decide(decision)
        self._proceed()

    def tools_learned(self) -> None:
        """Note that it is known which tools there are."""
        self.rounds.learned()
        if self.waits:
            self._proceed()
        elif not self.busy and not self.answers:
            self.rounds.appear()

    def returned(self, end: "ToolResult | None", seconds: float) -> None:
        """Take what a call returned; None: its tool has changed since it was allowed."""
        self.rounds.returned(end, seconds)
        self._proceed()

    # The program

    def keep(self) -> None:
        """Save what there is of the answers under way; may be called on any thread.

        Raises:
            StorageError: it cannot be written.
        """
        for answer in self.answers:
            self.path.keeping.stream(answer)

    def leave(self) -> None:
        """Keep what is under way as stopped: the program ends."""
        self._end_all("stopped")
        self.rounds.leave()

    def _tell_path(self, effect: Effect) -> None:
        self._tell(effect)
        if isinstance(effect, PathOpened):  # nothing at its end runs unasked
            self.rounds.live = False
            if self._works or self.answers:
                self.rounds.settle()
            else:
                self.rounds.appear()

    # What is to be answered

    def _want(self, begin: Callable[[], None]) -> None:
        self._next = begin
        self._proceed()

    def _proceed(self) -> None:
        """Begin what waits, if that is possible; or else do what follows from the path."""
        if self._next is None:
            if not self.busy and not self.answers and self.rounds.follow():
                self._want(self._answer)
        elif self.model is None:
            if not self.expects_model:
                self._tell(FindModel())
        elif not self.busy and self.rounds.known():
            begin, self._next, self._question = self._next, None, None
            begin()

    def _answer(self) -> None:
        path, record = self.path.records, self._begin()
        self.path.append(record)
        self._tell(AnswerBegun(record))
        self._ask([AnswerSoFar(record)], self._request(path, again=len(record.siblings) - 1))

    def _resume(self) -> None:
        record = self.path.records[-1]
        self._tell(AnswerResumed(record))
        so_far = AnswerSoFar(record, self.path.keeping.trace(record.id))
        self.path.keeping.stream(so_far)  # from now on no other program continues it
        self._ask([so_far], self._request(self.path.records))

    def _begin(self) -> Record:
        name = self.model.name if self.model else ""
        path = self.path
        return path.keeping.begin_answer(path.conversation, path.records[-1].id, name)

    def _ask(self, answers: Iterable[AnswerSoFar], request: Request) -> None:
        self.rounds.live, self._works, self.answers = False, True, tuple(answers)
        self._tell(AskEngine(request))

    def _request(self, path: Sequence[Record], again: int = 0) -> Request:
        """Return what the engine needs to answer, or to continue with, the end of a path.

        `again` counts the answers there are already to the question.
        """
        asked = self._asks()
        messages = messages_of(path, self.path.system, self.model.name if self.model else "")
        asked = replace(
            asked,
            messages=messages,
            seed=None if asked.seed is None else asked.seed + max(0, again),  # another answer
            stored=self.path.keeping.saves,
            tools=self.rounds.tools.tools(self.path.conversation),
        )
        if not self.rounds.in_words and not repeats_earlier_calls(calls_since_question(path)):
            return asked
        return replace(asked, messages=without_more_calls(messages), tool_choice="none")

    # Answers under way

    def _grow(self, number: int, event: Decoded) -> None:
        if number < len(self.answers):
            answer = self.answers[number]
            self._tell(AnswerGrew(answer.record, answer.add(event), event, number))

    def _finish(self, number: int, event: Finished) -> None:
        if number >= len(self.answers):
            return
        answer, alone = self.answers[number], len(self.answers) == 1
        if event.stop is not Stop.CANCELLED and not event.complete:
            self.note("The answer ended before it had its form.")
        if not answer.is_nothing(event):
            record = self._ended(answer, answer.finished(event))
            self._tell(AnswerEnded(record, event, number))
        if alone:
            self._end_all("stopped")
            self.rounds.live = event.stop is not Stop.CANCELLED

    def _end_all(self, state: State, event: Answered | None = None) -> None:
        """Keep what there is of answers that did not finish; nothing of one that never began."""
        answers, self.answers = self.answers, ()
        for number, answer in enumerate(answers):
            if answer.is_over:
                continue
            if answer.text or answer.thought:
                self._tell(AnswerEnded(self._ended(answer, answer.abandoned(state)), None, number))
            else:
                self._forget(answer)
        if answers:
            self._tell(AnswersEnded(event))

    def _ended(self, answer: AnswerSoFar, ended: Record) -> Record:
        record = self.path.keeping.end(answer, ended)
        self.path.replace(record)
        return record

    def _forget(self, answer: AnswerSoFar) -> None:
        """Drop an empty answer, and give back its question if that has no other one."""
        answer.is_over = True
        if not self.path.shows(answer.record):  # one of several, or of another conversation
            self.path.keeping.drop(answer.record)
            return
        question = self.path.records[-2]
        self.path.remove(answer.record)
        if len(answer.record.siblings) > 1 and self.path.keeping.writes:
            self.path.reopen()  # at another answer
        elif question.role == "user":
            self.path.remove(question)
            self._tell(GivenBack(question.content, question.attachments))

    def note(self, text: str) -> None:
        """Have something said about the answer under way, before it."""
        shown = (each.record for each in self.answers if self.path.shows(each.record))
        self._tell(Noted(text, before=next(shown, None)))
