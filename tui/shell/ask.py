"""Ask the engine one question, and stream the answer to the terminal."""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Any

import click
from rich.text import Text

from assistant.events import (
    Decoded,
    Event,
    Failed,
    Finished,
    Loading,
    Prefilled,
    Ready,
    Warned,
    said,
)
from assistant.request import Constraint
from assistant.session.chat_session import ChatSession
from assistant.session.events import (
    Added,
    ApprovalRequested,
    Changed,
    Indexing,
    NotSaved,
    SessionEvent,
    ToolsStarting,
)
from assistant.session.folder_retriever import FolderRetriever
from assistant.settings.settings import Settings
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import OfferedTool
from models.errors import StorageError
from tui import outlook
from tui.figures import access, arguments, counted
from tui.safe import one_line, safe
from tui.shell.asked import ContinuedChat, check_thinking
from tui.shell.engine_console import EngineConsole
from tui.shell.options import can_ask
from tui.shell.received_answers import Printing, ReceivedAnswer

SAVED_EVERY_S = 1.0


class AskSession:
    """One question: asked and answered, and what came of it.

    The answer goes to standard output unless `quiet`, progress and a summary to standard error.
    Both question and answer become part of the conversation that is `continued`, if one is.
    Each call of `tools` is printed, and asked about on a terminal, unless `yes`.
    """

    def __init__(
        self,
        console: EngineConsole,
        settings: Settings,
        question: str,
        stop_strings: Sequence[str],
        quiet: bool,
        continued: ContinuedChat | None = None,
        constraint: Constraint | None = None,
        tools: ToolSet | None = None,
        yes: bool = False,
    ) -> None:
        self._console, self._settings, self._question = console, settings, question
        self._constraint, self._quiet, self._yes = constraint, quiet, yes
        self._continued = continued
        self._printing = Printing(quiet, settings.show_thinking)
        self._failed: Failed | None = None
        self.ready: Ready | None = None
        """The models, once they are loaded."""
        self.answers = [ReceivedAnswer()]
        """What came of the question; all but the last asked for calls."""
        self._folders = FolderRetriever(self._take, lambda: settings) if settings.about else None
        self._to_do: list[Coroutine[Any, Any, None]] = []
        self._saved = monotonic()
        request = settings.request()
        request = replace(request, stop_strings=tuple(stop_strings), constraint=constraint)
        self.session = ChatSession(
            self._take,
            console.do,
            self._to_do.append,
            continued.store if continued else None,
            tools,
            lambda: request,
            answers_at_limit=True,
            writes=continued is not None and continued.keeps,
            folders=self._folders,
        )
        """The conversation, which is of this question alone unless one is continued."""
        console.closing.append(self.session.tool_loop.tools.close)

    def run(self) -> None:
        """Ask, and wait for the answer. Ctrl-C ends it early and keeps the text so far.

        Raises:
            SpecchatError: there is no answer.
            KeyboardInterrupt: Ctrl-C while loading, or twice.
        """
        try:
            if self._folders:
                self._console.wait(self._folders.read(self._folders.stale(())))
            self._load()
            with suppress(asyncio.CancelledError):
                self._console.wait(self._have_answered())
        finally:
            self.session.shutdown()
        if self._failed is not None:
            raise self._console.error(self._failed)
        self._summarise()

    def _load(self) -> None:
        console, settings = self._console, self._settings
        setup, no_draft = settings.setup(console.checking)
        chooses_by_time = settings.mode != "ars" and settings.lookahead is None
        setup = replace(setup, measure=chooses_by_time)
        self.ready = ready = console.run(setup, self._hear_loading, keeps=False)
        check_thinking(settings, ready)
        if settings.draft or console.console.is_terminal:
            self._say(outlook.missing(no_draft, ready, settings))
        self.session.ready(ready.target)

    async def _have_answered(self) -> None:
        self._console.stop_with(self.session.stop)
        if self._continued is not None:
            self._say(self._continued.store.warning)
            if self._continued.number is not None:
                self.session.branch.open(self._continued.number)
        self.session.submit(self._question)
        for doing in self._to_do:
            await doing

    # What the engine and the session say

    def _hear_loading(self, event: Event) -> None:
        if isinstance(event, Warned):
            self._say(event.text)

    def _take(self, event: SessionEvent) -> None:
        console = self._console
        match event:
            case Loading():
                console.loading(event)
            case Prefilled():
                console.reading("the question", event)
            case Decoded() | Finished():
                self._handle(event)
            case Failed():
                self._failed = event
                self._printing.cut()  # what was said so far stands on lines of its own
            case ToolsStarting(over=False):
                console.keeps = False
            case ApprovalRequested():
                console.keeps = False  # while nothing runs: Ctrl-C is no answer
                self._decide(event)
            case Added(record) if record.role != "user":
                console.keeps = True
                if record.role == "assistant" and self.answers[-1].finished:
                    self.answers.append(ReceivedAnswer())
                    self._printing = Printing(self._quiet, self._settings.show_thinking)
            case Changed(record) if record.role == "tool":
                self.answers[-1].results.append(record)
                if record.seconds:
                    size = f"{counted(len(record.content), 'character')} · {record.seconds:.1f} s"
                    click.echo(f"{record.state}: {size}", err=True)
            case Changed(record) if record.role == "assistant" and record.state != "streaming":
                self.answers[-1].sources = record.attachments
                if self._folders or self._continued:  # else there are no passages
                    from assistant.session.support import check

                    self.answers[-1].unsupported = check(
                        record, self.session.branch.records
                    ).warnings
            case Indexing(text, fraction):
                self._say(text, "dim") if fraction is None else console.say(text)
            case Warned(text, severity) if severity != "error":
                self._say(text)
            case NotSaved(reason):
                raise StorageError(reason)
        if monotonic() - self._saved > SAVED_EVERY_S:
            self._saved = monotonic()
            self.session.responses.save()

    def _decide(self, waits: ApprovalRequested) -> None:
        """Show a call and its arguments, and say whether it may run."""
        if self._console.interrupted:  # it stays undecided
            self._console.give_up()
            return
        self._console.hush()
        given = [f"  {name}: {value}" for name, value in arguments(waits.call)]
        click.echo(safe("\n".join([f"Tool call: {waits.call.name}", *given])), err=True)
        allowed = self._may_run(waits.tool, safe(access(waits.tool)))
        self.session.tool_loop.resolve_approval("once" if allowed else "refuse")

    def _may_run(self, tool: OfferedTool, access: str) -> bool:
        asks = not self._yes and can_ask()
        if not asks and tool.read_only:
            return True
        click.echo(access if asks else f"Refused. {access}", err=True)
        return asks and click.confirm("Run it?", default=False, err=True)

    def _handle(self, event: Decoded | Finished) -> None:
        """Show what the answer says."""
        given = self.answers[-1]
        shown = self._settings.show_thinking or given.finished or said(given.tokens)
        if isinstance(event, Decoded) and not shown and not said(event.tokens):
            self._console.say(f"thinking: {counted(event.stats.thought_tokens, 'token')}")
        else:
            self._console.hush()
        given.take(event)
        if isinstance(event, Decoded):
            self._printing.add(event.tokens)
        elif event.text or not event.tool_calls:
            self._printing.end()

    def _say(self, text: str | None, style: str = "yellow") -> None:
        if text:
            self._console.console.print(Text(safe(text), style), soft_wrap=True)

    def _summarise(self) -> None:
        end = self.answers[-1].finished
        if end is None or self._quiet:
            return
        if self._console.console.is_terminal:
            kept = self.session.branch.conversation if self._continued is not None else None
            has_form = self._constraint is not None
            lines = self.answers[-1].summary(end, self._settings, has_form, kept)
        else:  # an editor puts it beside the answer, so only what was asked for, or is wrong
            lines = self.answers[-1].remarks(end, self._settings)
        self._say("\n".join(map(one_line, lines)), "dim")
