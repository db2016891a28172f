"""A conversation without a screen: questions, the answer under way, and tool calls."""

from asyncio import to_thread
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from assistant.engine.sources import ngram_store
from assistant.events import Failed, ModelInfo, Warned
from assistant.request import Request
from assistant.service import EventStream
from assistant.session import events
from assistant.session.active_branch import ActiveBranch
from assistant.session.folder_retriever import FolderRetriever
from assistant.session.request_builder import RequestBuilder
from assistant.session.response_handler import ResponseHandler
from assistant.session.tool_loop import ToolLoop
from assistant.settings.settings import Settings
from assistant.store.values import Attachment, StoredMessage
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import ToolSettings
from models.errors import StorageError, UsageError, raising

if TYPE_CHECKING:
    from assistant.store.store import Store

SAVE_EVERY_S = 1.0  # so much of an answer is lost when the program is killed


class ChatSession:
    """A conversation. Its methods are the user's actions; `_run` does what follows from them.

    Each method changes the state at once, and emits what is to be shown: each event in order, those
    of the engine unchanged. Answers and tool calls run meanwhile, one at a time, in one coroutine.
    All methods are called in the client's event loop.
    """

    def __init__(
        self,
        emit: Callable[[events.SessionEvent], None],  # an error that it raises ends the session
        do: Callable[[Request], EventStream],  # has the engine answer
        start: Callable[[Coroutine[Any, Any, None]], object],  # runs one in the client's event loop
        store: "Store | None" = None,  # saves the messages; None saves nothing
        tools: ToolSet | None = None,  # those that answers may call
        make_request: Callable[[], Request] = lambda: Request(()),  # its messages are replaced
        answers_at_limit: bool = False,  # of rounds with tools: in words; else the user is asked
        writes: bool = True,  # whether messages are written to the store, or only read from it
        *,
        settings: Callable[[], Settings],  # returns the present ones
    ) -> None:
        self._emit, self._start, self._settings = emit, start, settings
        self.branch = ActiveBranch(self._on_branch_event, store, settings, writes)
        """The messages on the screen."""
        self.responses = ResponseHandler(emit, self.branch)
        """Saves and shows the answer under way."""
        tools = tools or ToolSet(ToolSettings())
        self.tool_loop = ToolLoop(emit, self.branch, tools, answers_at_limit)
        """Runs the tool calls at the end of the branch."""
        self.folders = FolderRetriever(emit, settings)
        """Searches the folders that questions are about."""
        self.requests = RequestBuilder(
            self._on_event, do, self.branch, self.tool_loop, self.responses, make_request
        )
        """Has the engine answer."""
        self._next: Callable[[], Coroutine[Any, Any, None]] | None = None  # the answer that waits
        self._undo: Callable[[], None] | None = None  # takes back what made room for it
        self._is_running = False  # whether `_run` runs
        self._unlearnt: ModelInfo | None = None  # the model whose answers are to be learnt from

    @property
    def waits(self) -> bool:
        """Whether a question waits to be answered."""
        return self._next is not None

    @property
    def idle(self) -> bool:
        """Whether neither the engine nor a tool is at work, and nothing waits."""
        return not (self.responses.under_way or self.tool_loop.running or self.waits)

    # The model

    def ready(self, model: ModelInfo) -> None:
        """Have a model answer from now on, beginning with what waits."""
        self.requests.model, self.requests.expects_model = model, False
        self._unlearnt = model
        if self.waits:
            self._start_loop()

    def no_model(self, reason: str) -> None:
        """Withdraw the question that waits, and warn why nothing can be answered."""
        self.requests.model, self.requests.expects_model = None, False
        self.withdraw()
        self._emit(Warned(reason, "error"))

    # Questions and answers

    def submit(
        self, text: str, attachments: Sequence[Attachment] = (), edits: StoredMessage | None = None
    ) -> None:
        """Add a question, at the end or instead of the one that it `edits`; have it answered.

        At the end, calls without a decision are refused.
        """
        if edits is not None and self.branch.shows(edits):
            self.branch.cut_before(edits)
        else:
            self.tool_loop.refuse_open_calls()
        is_new = self.branch.conversation is None
        question = self.branch.add_question(text, attachments)
        self._undo = partial(self.responses.return_question, question)
        if is_new:
            self.tool_loop.apply_pending_setting()
        self.answer()

    def read_folders(self, attachments: Iterable[Attachment], asked: bool = False) -> None:
        """Start to read the folders of a question, of which some may have changed."""
        if stale := self.folders.claim_stale(attachments, asked):
            self._start(self.folders.read(stale))

    def answer(self) -> None:
        """Have the end of the branch answered."""
        self._request_answer(self.requests.answer)

    def answer_again(self, message: StoredMessage) -> None:
        """Have another answer beside this one, or ask about a call once more."""
        self.branch.cut_before(message)
        if message.role != "tool":
            self._undo = self.branch.undo_cut if self.branch.writes else None
            self.answer()

    def continue_from(self, message: StoredMessage) -> None:
        """Continue the last answer, which was cut, or the work after a tool's result.

        An answer that another program may be writing is continued in a copy. UsageError if it is
        not the last message, or another program changed it, which is then shown; StorageError if
        it cannot be read.
        """
        if message.id != self.branch.end:
            raise UsageError("Only the last answer can be continued; f forks here.")
        stored = self.branch.stored(message)
        if stored and stored.state == "streaming" and stored.role != "tool":
            self.branch.copy(stored)  # two would write over each other
        elif stored is None or stored.state == "streaming" or stored.content != message.content:
            self.branch.reopen()
            raise UsageError("Another specchat changed it, or was killed then; f forks here.")
        if message.role != "tool":
            before = self.branch.trace(self.branch.records[-1].id)
            self._request_answer(partial(self.requests.resume, before))
            return
        self.tool_loop.reset_rounds()
        if self.tool_loop.next_call is None:
            self.answer()
        else:
            self.tool_loop.close_approval()  # and ask once more
            self._start_loop()

    def open(self, conversation: int | None) -> None:
        """Show a conversation; None is a new one. What is under way is stopped and saved.

        After a `StorageError`, what is on the screen stays: the other one cannot be read.
        """
        self.stop()
        self.branch.open(conversation)

    def stop(self) -> None:
        """End the answer or the call, save it so far, and withdraw the one that waits."""
        self.withdraw()
        self.requests.stream.cancel()
        self.tool_loop.stop()

    def withdraw(self) -> None:
        """Drop the answer that waits: its question returns to the input, or an older answer."""
        self._next = None
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    # The program

    async def save(self) -> None:
        """Save the answer under way; StorageError if that fails.

        After a model was loaded, the first call also starts to learn from its stored answers.
        """
        model, self._unlearnt = self._unlearnt, None
        if model is not None:
            self._start(self._learn(model.name))
        await to_thread(self.responses.save)

    async def _learn(self, model: str) -> None:
        """Build the table of phrases that a model's stored answers repeat; that takes a while.

        Where the settings turn that off, the tables of all models are removed.
        """
        store = self.branch.store
        try:
            if not self._settings().learn:
                with raising(StorageError, "What was learnt from answers cannot be removed"):
                    await to_thread(ngram_store.clear)
            elif store is not None and store.saves:
                await to_thread(ngram_store.refresh, model, store.answer_tokens(model))
        except StorageError as error:
            self._emit(Warned(str(error)))

    def shutdown(self) -> None:
        """Save what is under way as stopped: the program ends."""
        self.responses.end("stopped")
        self.tool_loop.shutdown()

    # What follows

    async def _run(self) -> None:
        """Answer the question that waits, run the tools that answers call, answer their results."""
        try:
            while True:
                while self._next is None and (call := self.tool_loop.next_call):
                    await self.tool_loop.process_call(call)
                if self._next is None and self.tool_loop.should_answer():
                    self._next = self.requests.answer
                if self._next is None and self.tool_loop.may_auto_run:
                    self._emit(events.FullyAnswered())
                if self._next is None:
                    return
                if self.requests.model is None:  # `ready` continues
                    if not self.requests.expects_model:
                        self._emit(events.NeedsModel())
                    return
                answer, is_due = self._next, partial(self._is_due, self._next)
                await self.tool_loop.refresh_tools()
                await self.folders.look_up(self.branch, self.requests.model, is_due)
                if is_due():  # it was not withdrawn meanwhile
                    self._next = self._undo = None
                    await answer()
        finally:
            self._is_running = False

    def _is_due(self, answer: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        return self._next is answer and self.requests.model is not None

    def _start_loop(self) -> None:
        if not self._is_running:
            self._is_running = True
            self._start(self._run())

    def _request_answer(self, answer: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.tool_loop.close_approval()
        self.read_folders(self.branch.leaf.attachments if self.branch.leaf else (), asked=True)
        self._next = answer
        self._start_loop()

    def _on_event(self, event: events.SessionEvent) -> None:
        """Pass on an event of the engine; after a failure, nothing waits for the next answer."""
        self._emit(event)
        if isinstance(event, Failed):
            self.withdraw()

    def _on_branch_event(self, event: events.SessionEvent) -> None:
        self._emit(event)
        if isinstance(event, events.PathShown):
            # No call at the end of an opened branch runs before the user approves it.
            self.tool_loop.restore_setting()
            self.tool_loop.may_auto_run = False
            self.tool_loop.close_approval()
            if self.tool_loop.next_call:
                self._start_loop()
