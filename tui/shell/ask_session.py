"""A session of `specchat ask`: one question, its answer streamed to standard output."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING

import click
from rich.text import Text

from assistant.events import Decoded, Failed, Finished, Loading, Prefilled, Ready, Warned, text_in
from assistant.request import Request
from assistant.session import events
from assistant.session.attachments import ReadingLimits
from assistant.session.chat_session import SAVE_EVERY_S, ChatSession
from assistant.session.messages import passages_of
from assistant.settings.settings import Settings
from assistant.store.values import Attachment
from assistant.tools.toolbox import ToolSet
from models.errors import ModelError, StorageError
from tui import outlook
from tui.labels import access, call_lines, outcome, plural
from tui.reading import as_sent
from tui.safe import one_line, safe
from tui.shell.ask_inputs import check_thinking
from tui.shell.engine_console import EngineConsole
from tui.shell.options import can_ask
from tui.shell.received_answers import AnswerPrinter, ReceivedAnswer, report

if TYPE_CHECKING:
    from assistant.store.store import Store


class AskSession:
    """Ask questions, and print their answers.

    An answer goes to standard output, progress and a summary to standard error; with `quiet`, only
    a JSON report is printed. Questions and answers are appended to the `conversation` in the
    `store`, if there is one. Tool calls are printed; on a terminal, unless `yes`, each needs the
    user's approval.
    """

    def __init__(
        self,
        console: EngineConsole,
        settings: Settings,
        request: Request,
        quiet: bool,
        yes: bool,
        tools: ToolSet | None,
        store: "Store | None",
        conversation: int | None,
    ) -> None:
        self._console, self._settings, self._request = console, settings, request
        self._quiet, self._yes, self._tools = quiet, yes, tools
        self._store, self._conversation = store, conversation
        self.ready: Ready | None = None
        """The models, once they are loaded."""
        self._printer, self._saved_at = AnswerPrinter(quiet, settings.show_thinking), monotonic()

    def ask(self, text: str, files: Sequence[Attachment], name: str = "") -> None:
        """Ask, and wait for the answer, which is printed below the `name`, if there is one.

        Ctrl-C stops it and keeps the text so far; while loading, or twice, it raises
        KeyboardInterrupt. SpecchatError if there is no answer.
        """
        console, jobs = self._console, list[asyncio.Task[None]]()
        self._answers = [ReceivedAnswer()]  # all but the last made tool calls
        self._failed: Failed | None = None
        self._session = ChatSession(
            self._handle,
            console.do,
            lambda job: jobs.append(console.start_task(job)),
            self._store,
            self._tools,
            lambda: self._request,
            answers_at_limit=True,
            writes=self._settings.save,
            settings=lambda: self._settings,
        )
        console.closing.append(self._session.tool_loop.tools.close)

        async def answer(sent: Sequence[Attachment]) -> None:
            console.stop_with(self._session.stop)
            if self._conversation is not None:
                self._session.branch.open(self._conversation)
            self._session.submit(text, sent)
            for job in jobs:
                await job

        try:
            self._session.read_folders(files)
            self.ready = self.ready or self._load()
            self._session.ready(self.ready.target)
            if name and not self._quiet:
                console.hide_progress()
                click.echo(f"==> {one_line(name)} <==")
            sent = self._files_as_sent(text, files)
            with suppress(asyncio.CancelledError):
                console.wait(answer(sent))
        finally:
            try:
                self._session.shutdown()
            finally:
                self._printer.cut()  # the text so far ends with a line break
        if self._failed is not None:
            raise console.error(self._failed)
        if self._quiet:
            self._report(name)
        else:
            self._summarise()
        if cut := self._answers[-1].cut:
            raise ModelError(cut)

    def _load(self) -> Ready:
        console, settings = self._console, self._settings
        setup, no_draft = settings.setup(console.show_check)
        chooses_by_time = settings.mode != "ars" and settings.lookahead is None
        setup = replace(setup, measure=chooses_by_time)
        if settings.mode == "ars" and not settings.draft:  # no key changes the mode here
            setup, no_draft = replace(setup, draft=None), None
        ready: Ready = console.run(setup, self._handle, stoppable=False)
        check_thinking(settings, ready)
        if settings.draft or (settings.mode != "ars" and console.console.is_terminal):
            self._print(outlook.missing_draft(no_draft, ready, settings))
        return ready

    def _files_as_sent(self, text: str, files: Sequence[Attachment]) -> Sequence[Attachment]:
        """Return the files as they are sent; print which are too long to be sent whole."""
        if not text.strip():  # a file alone is the question
            return files
        limits = ReadingLimits.of(self.ready, self._settings)
        sizes = [self._console.count(file.text) for file in files]
        hint = f" SPECCHAT_ABOUT_SECONDS={ceil(sum(sizes) * limits.token_s)} reads all of it."
        sent, reasons = as_sent(files, sizes, limits)
        for reason in reasons:
            self._print(reason + (hint if sum(sizes) <= limits.tokens else ""))
        return sent

    # Events of the engine and the session

    def _handle(self, event: events.SessionEvent) -> None:
        console = self._console
        match event:
            case Loading() | Prefilled():
                console.show_waiting(event, "the question")
            case Decoded() | Finished():
                self._show_round(event)
            case Failed():
                self._failed = event
            case events.ApprovalRequested():
                console.stoppable = False  # nothing runs: Ctrl-C ends the program
                self._ask_approval(event)
            case events.Added(record) if record.role != "user":
                console.stoppable = True
                if record.role == "assistant" and self._answers[-1].finished:
                    self._answers.append(ReceivedAnswer())
            case events.Changed(record) if record.role == "tool":
                self._answers[-1].results.append(record)
                if record.seconds:
                    click.echo(safe(" · ".join(outcome(record))), err=True)
            case events.Changed(record) if record.role != "user" and record.state != "streaming":
                answer, records = self._answers[-1], self._session.branch.records
                answer.sources = record.attachments
                if passages_of(records):
                    from assistant.session.support import check

                    answer.unsupported = check(record, records).warnings
            case events.Preparing(text, fraction):
                console.stoppable = False
                self._print(text, "dim") if fraction is None else console.show_progress(text)
            case Warned(text, severity) if severity != "error" and not self._answers[-1].cut:
                self._print(text)
            case events.NotSaved(reason):
                raise StorageError(reason)
        if monotonic() - self._saved_at > SAVE_EVERY_S:
            self._saved_at = monotonic()
            self._session.responses.save()

    def _ask_approval(self, request: events.ApprovalRequested) -> None:
        if self._console.interrupted:  # which is no decision
            self._console.cancel_wait()
            return
        self._console.hide_progress()
        click.echo(safe("\n".join(call_lines(request.call))), err=True)
        may_access, interactive = safe(access(request.tool)), not self._yes and can_ask()
        allowed = not interactive and request.tool.read_only
        if not allowed:
            click.echo(may_access if interactive else f"Refused. {may_access}", err=True)
            allowed = interactive and click.confirm("Run it?", default=False, err=True)
        self._session.tool_loop.resolve_approval("once" if allowed else "refuse")

    def _show_round(self, event: Decoded | Finished) -> None:
        """Print the tokens of a round, or that the model is thinking."""
        answer = self._answers[-1]
        shown = self._settings.show_thinking or answer.finished or text_in(answer.tokens)
        if isinstance(event, Decoded) and not shown and not text_in(event.tokens):
            self._console.show_progress(f"thinking: {plural(event.stats.thought_tokens, 'token')}")
        else:
            self._console.hide_progress()
        answer.add(event)
        if isinstance(event, Decoded):
            self._printer.add(event.tokens)
        elif event.text or not event.tool_calls:
            self._printer.end()

    def _print(self, text: str, style: str = "yellow") -> None:
        if text:
            self._console.console.print(Text(safe(text), style), soft_wrap=True)

    def _report(self, name: str) -> None:
        number = self._session.branch.conversation
        content = report(self._answers, self.ready, self._settings, number)
        self._console.hide_progress()
        click.echo(json.dumps({"file": name, **content} if name else content))

    def _summarise(self) -> None:
        answer, settings = self._answers[-1], self._settings
        if (end := answer.finished) is None:
            return
        if self._console.console.is_terminal:
            conversation = self._session.branch.conversation if self._store else None
            constrained = self._request.constraint is not None
            lines = answer.summary(end, settings, constrained, conversation)
        else:  # an editor shows it beside the answer: only sources and warnings
            lines = answer.warnings(end, settings)
        self._print("\n".join(map(one_line, lines)), "dim")
