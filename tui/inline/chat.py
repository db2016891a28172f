"""The chat in the terminal's own scrollback: a client of the session, without a screen."""

import asyncio
import os
import re
import signal
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from assistant.events import Failed, Ready
from assistant.process.engine_process import EngineProcess
from assistant.request import Constraint
from assistant.session import events
from assistant.session.attachments import ReadingLimits, attachment_of, pasted_text
from assistant.session.chat_session import SAVE_EVERY_S, ChatSession
from assistant.session.messages import tokens
from assistant.session.unsent_text import Unsent, UnsentText
from assistant.settings.settings import Settings
from assistant.store.store import Store
from assistant.store.values import Attachment
from assistant.tools.toolbox import ToolSet
from models.errors import ModelError, SpecchatError, StorageError, UsageError
from models.files.places import expand_user
from tui.app.signals import hang_up_if_gone, signals_leave
from tui.inline.scrollback import Painter, Scrollback
from tui.outlook import can_guess, without_draft
from tui.reading import Activity, as_sent
from tui.safe import one_line
from tui.widgets.lines import MUTED

DECORATOR = r"[\w.]+\s*\n(?:\s*@.*\n)*\s*(?:async def|def|class) \w+\s*[(:]"
WELCOME = "specchat · /help lists the commands, Ctrl+D leaves"


class _Prompt(Protocol):
    """The reader of lines at the bottom of the terminal: `InlineTerminal` or `PlainTerminal`."""

    async def run(self) -> None: ...
    def leave(self) -> None: ...
    def refresh(self) -> None: ...
    def text(self) -> str: ...
    def clear(self) -> None: ...
    def put(self, text: str) -> None: ...
    def copy(self, text: str) -> None: ...


class InlineChat:
    """The settings, the session and the models of a chat, and the user's actions on them."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings, self.store = settings, store
        self.constraint: Constraint | None = None
        self.attachments: list[Attachment] = []
        """The attachments of the next question."""
        self.queued: tuple[Unsent, ...] = ()
        """The questions that wait for the end of an answer."""
        self.ready: Ready | None = None
        self._engine = EngineProcess()
        self.session = ChatSession(
            self._handle,
            self._engine.do,
            self.start,
            store,
            tools=ToolSet(settings.tools, settings.offline, opt_in=True),
            make_request=lambda: replace(self.settings.request(), constraint=self.constraint),
            settings=lambda: self.settings,
        )
        self.unsent = UnsentText(self, self.session)
        """The text in the prompt, the queue, and those of other conversations."""
        branch, refresh = self.session.branch, lambda: self.prompt.refresh()
        self.scrollback = Scrollback(Painter(settings.theme), branch, refresh)
        self.prompt: _Prompt
        """Set by `run`."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None
        self._exit_code = 0

    async def run(self, prompt: _Prompt) -> int:
        """Chat until the user leaves; return the exit code. SpecchatError if no model is usable."""
        self.prompt = prompt
        # The prompt must not be in the first line of a screen: when all of it from there on is
        # cleared, tmux saves it in the scrollback.
        print(WELCOME, flush=True)
        self.apply(self.settings)
        self.scrollback.note(self.store.warning or "")
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: self._fail(context.get("exception"), context["message"])
        )
        with signals_leave(self._leave):  # also while it is closed: another signal changes nothing
            try:
                self.start(self.load())
                self.start(self._save_regularly())
                self.unsent.load()
                self.session.read_folders(self.attachments)
                await prompt.run()
            finally:
                hang_up_if_gone()
                self.session.shutdown()
                print(self.scrollback.finished(), end="", flush=True)
                with suppress(StorageError):
                    self.unsent.save()
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(self._engine.close(), self.session.tool_loop.tools.close())
        if self._error is not None:
            raise self._error
        return self._exit_code

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine until the program ends; its unexpected error ends the program."""

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled():
                self._fail(task.exception())

        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(ended)

    def _fail(self, error: BaseException | None, message: str = "") -> None:
        """End the program with an error of a task or a key; without one, show the message."""
        if error is None:
            self.scrollback.note(message)
        elif not hang_up_if_gone():
            self._error = self._error or error
            self.prompt.leave()

    async def load(self, target: str = "") -> None:
        """Load the models of the settings in force, or with another target, which then applies.

        A `SpecchatError` says that those of the settings are not usable.
        """
        self.scrollback.show_status(activity=Activity("looking for the models", 0.0))
        change: dict[str, Any] = {"target": target} if target else {}
        try:
            setup, no_draft = await asyncio.to_thread(replace(self.settings, **change).setup)
            self.apply(replace(self.settings, **change))  # others may have changed meanwhile
            self.session.requests.expect_model()
            async for event in self._engine.do(setup):
                if isinstance(event, Failed):
                    self.session.no_model(event.message)
                    raise ModelError("No model is loaded; /model NAME loads one.")
                self._handle(event)
        except SpecchatError as error:
            if not target:
                raise
            self.scrollback.show_status(activity=None)
            self.scrollback.note(str(error))
        else:
            if self.ready:
                self.scrollback.note(without_draft(no_draft, self.ready, self.settings))

    async def _save_regularly(self) -> None:
        while True:
            await asyncio.sleep(SAVE_EVERY_S)
            with suppress(StorageError):  # the end of the answer reports it
                await self.session.save()
                await asyncio.to_thread(self.unsent.save)

    def _leave(self, number: int) -> None:
        if number == signal.SIGINT and not self.session.idle:
            self.stop()
            return
        self._exit_code = 128 + number
        self.prompt.leave()

    # What the user does

    def stop(self) -> None:
        """Stop the answer or the tool call; queued questions go back into the prompt."""
        for waiting in reversed(self.queued):
            self.insert(waiting)
        self.queued = ()
        self.session.stop()

    def paste(self, text: str) -> None:
        """Attach a long text that was pasted."""
        try:
            self.attach(pasted_text(text, self.attachments))
        except UsageError as error:
            self.scrollback.note(str(error))

    def add(self, files: Sequence[Attachment]) -> None:
        """Attach texts and folders to the next question; each replaces one of its name."""
        whole = [file.whole for file in (*self.attachments, *files) if not file.number]
        self.attachments = [*{file.name: file for file in whole}.values()]
        self.session.read_folders(self.attachments)

    def attach(self, file: Attachment) -> None:
        """Attach a text or a folder to the next question, and say so."""
        self.add([file])
        self.scrollback.note(f"Attached to the next question: {one_line(file.name)}", MUTED)

    def submit(self, text: str) -> None:
        """Have a question answered or queued; UsageError puts it back if its files have no text."""
        names, missing = _named_in(text)
        try:
            named = [attachment_of(name) for name in names]
        except UsageError:
            self.prompt.put(text)
            raise
        files = [*{file.name: file for file in (*self.attachments, *named)}.values()]
        limits = ReadingLimits.of(self.ready, self.settings)
        sent, reasons = as_sent(files, [tokens(file.text) for file in files], limits)
        self.scrollback.note("\n".join(reasons), MUTED)
        if missing:
            self.scrollback.note(f"There is no file {', '.join(missing)}: sent as text only.")
        self.attachments = [file for file in self.attachments if file.is_folder]
        self.unsent.submit(Unsent(text, tuple(sent)))

    def counts(self) -> str:
        """Return how many attachments and questions wait, for the end of the status line."""
        counts = {"attached": len(self.attachments), "waiting": len(self.queued)}
        return "".join(f"  {count} {what}" for what, count in counts.items() if count)

    def apply(self, settings: Settings) -> None:
        """Use other settings, from the next round or answer on."""
        self.settings = settings
        self.scrollback.ghosts, self.scrollback.thoughts = settings.ghosts, settings.show_thinking
        self.scrollback.show_status(mode=settings.mode)
        self.session.requests.stream.update(settings.mode, settings.lookahead, settings.sampling)

    # The prompt, for `UnsentText`

    @property
    def typed(self) -> Unsent:
        """The text in the prompt, and its attachments."""
        return Unsent(self.prompt.text(), tuple(self.attachments))

    def insert(self, unsent: Unsent) -> None:
        """Put a question into the prompt, before what was typed since."""
        self.add(unsent.attachments)
        self.prompt.put(unsent.text + ("\n" if unsent.text and self.prompt.text() else ""))

    def drop(self) -> None:
        """Clear the text, the attachments and the queue."""
        self.prompt.clear()
        self.attachments, self.queued = [], ()

    def show_edit(self, is_edit: bool) -> None:
        """Do nothing: the text in the prompt shows it."""

    # Events

    def _handle(self, event: events.SessionEvent) -> None:
        self.scrollback.show(event)
        match event:
            case Ready():
                self.ready = event
                self.scrollback.show_status(drafting=can_guess(event, self.settings))
                self.session.ready(event.target)
            case events.InputRestored(text, attachments):
                self.unsent.question_returned()
                self.insert(Unsent(text, attachments))
            case events.PathShown():
                self.unsent.switch()
            case events.NeedsModel():
                self.session.withdraw()
                self.scrollback.note("No model is loaded; /model NAME loads one.")
            case events.FullyAnswered():
                self.unsent.submit_next()


def _named_in(text: str) -> tuple[list[str], list[str]]:
    """Return the files that a question names as @path, and what looks like one and is none.

    Blanks may be in a name, and punctuation after it. Decorators of code are none.
    """
    names, missing = list[str](), list[str]()
    for line in re.findall(rf"(?<!\S)@(?!{DECORATOR})(?=(.*))", text):
        ends = reversed([end.start() for end in re.finditer(r"\s|$", line)])
        tried = [name for end in ends for name in (line[:end], line[:end].rstrip(".,;:!?)"))]
        if existing := [name for name in tried if name and os.path.exists(expand_user(name))]:
            names.append(existing[0])  # the longest
        elif re.match(r"[^\s(]*(\w\.\w|/)[^\s(]*(\s|$)", line):
            missing.append(tried[-1])  # its first word
    return names, missing
