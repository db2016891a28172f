"""Ask the engine one question, and stream the answer to the terminal."""

import asyncio
import sys
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from assistant.events import (
    Answered,
    Decoded,
    Event,
    Failed,
    Finished,
    Loading,
    Noticed,
    OneOf,
    Prefilled,
    Ready,
    Stop,
    Token,
)
from assistant.request import AnswerForm
from assistant.settings.settings import Settings
from assistant.talk.events import (
    Added,
    CallWaits,
    Changed,
    Indexing,
    Noted,
    NotSaved,
    TalkEvent,
    ToolsStart,
)
from assistant.talk.talk import Talk
from assistant.talk.tool_set import ToolSet
from assistant.tokens import said
from models.drafts import NO_DRAFT
from models.errors import StorageError, UsageError
from tui import draft_use
from tui.figures import figures, of_form, of_several
from tui.outlook import outlook
from tui.safe import one_line, safe
from tui.shell.engine_console import EngineConsole
from tui.shell.printing import Printing

if TYPE_CHECKING:  # few continue a conversation, or let a model call tools
    from assistant.store.values import Attachment, Record
    from assistant.talk.asked_folders import AskedFolders
    from assistant.tools.values import OfferedTool
    from tui.shell.asked import ContinuedChat

SAVED_EVERY_S = 1.0
CURES = {
    Stop.LENGTH: "give it more room with --max-tokens, or the form a limit of its own",
    Stop.CONTEXT: "give it more room with --ctx, or the form a limit of its own",
    Stop.STOP_STRING: "leave out --stop",
}
"""What to do when the end came too early for a form, by what it was."""


@dataclass(slots=True)
class ReceivedAnswer:
    """The outcome of one answer."""

    tokens: list[Token] = field(default_factory=list)
    last: Decoded | None = None  # round
    finished: Finished | None = None
    results: list["Record"] = field(default_factory=list)  # of its calls
    sources: "tuple[Attachment, ...]" = ()  # that it cites


class AskSession:
    """One question, for one answer or several: asked and shown, and what came of it.

    Answers go to standard output unless `quiet`, progress and a summary to standard error.
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
        continued: "ContinuedChat | None" = None,
        answers: int = 1,
        form: AnswerForm | None = None,
        tools: ToolSet | None = None,
        yes: bool = False,
    ) -> None:
        self._console, self._settings, self._question = console, settings, question
        self._form, self._quiet, self._count, self._yes = form, quiet, answers, yes
        self._continued = continued
        self._printing = Printing(quiet, answers, settings.show_thinking)
        self._ended = ReceivedAnswer()  # the last that did
        self._draft_failed = False  # in the answer, which the engine has said
        self._failed: Failed | None = None
        self.ready: Ready | None = None
        """The models, once they are loaded."""
        self.answers = [ReceivedAnswer() for _ in range(answers)]
        self.before: list[ReceivedAnswer] = []
        """Answers that asked for calls, and were followed by another."""
        self.answered: Answered | None = None
        """The figures of several answers, once all have ended."""
        self._folders = self._asked_folders() if settings.about else None
        self._to_do: list[Coroutine[Any, Any, None]] = []
        self._saved = monotonic()
        request = replace(settings.request(), stop_strings=tuple(stop_strings), form=form)
        self.talk = Talk(
            self._take,
            console.do,
            self._to_do.append,
            continued.store if continued else None,
            tools,
            lambda: request,
            goes_on=True,
            writes=continued is not None and continued.keeps,
            folders=self._folders,
        )
        """The conversation, which is of this question alone unless one is continued."""
        console.closing.append(self.talk.calls.tools.close)

    def _asked_folders(self) -> "AskedFolders":
        from assistant.talk.asked_folders import AskedFolders  # most questions are about none

        return AskedFolders(self._take, lambda: self._settings)

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
            self.talk.leave()
        if self._failed is not None:
            raise self._console.error(self._failed)
        self._summarise()

    @property
    def cut(self) -> str | None:
        """What is to be said of answers that do not have the form that was asked for."""
        ends = enumerate((given.finished for given in self.answers), 1)
        cut = {number: end for number, end in ends if end and not end.complete}
        if not cut:
            return None
        stop = next(iter(cut.values())).stop
        *first, last = map(str, cut)
        which = f"Answers {', '.join(first)} and {last}" if first else f"Answer {last}"
        who = "The answer" if len(self.answers) == 1 else f"{which} of {len(self.answers)}"
        cure = CURES.get(stop, "ask again")
        return f"{who} ended ({stop}) before the form was complete; {cure}."

    def _load(self) -> None:
        console, settings = self._console, self._settings
        setup, no_draft = settings.setup(console.checking)
        chooses_by_time = settings.mode != "ars" and settings.lookahead is None
        setup = replace(setup, measure=chooses_by_time)
        self.ready = ready = console.run(setup, self._hear_loading, keeps=False)
        self._check_thinking(ready)
        self._warn(no_draft)
        self.talk.ready(ready.target)

    async def _have_answered(self) -> None:
        self._console.stop_with(self.talk.stop)
        if self._continued is not None:
            self._say(self._continued.store.notice)
            if self._continued.number is not None:
                self.talk.path.open(self._continued.number)
        if self._count == 1:
            self.talk.say(self._question)
        else:
            self.talk.add_question(self._question)
            self.talk.several(self._count)
        for doing in self._to_do:
            await doing

    def _check_thinking(self, ready: Ready) -> None:
        """Refuse what was asked for here and now, and this model cannot do."""
        settings, name = self._settings, ready.target.name
        asked = {key for key, source in settings.sources.items() if source.is_passing}
        if "thinking" in asked and settings.thinking == "on" and not ready.thinks:
            raise UsageError(f"{name} does not think; leave --thinking on out.")
        if "effort" in asked and settings.effort and not ready.takes_effort:
            raise UsageError(f"The chat template of {name} takes no effort; leave --effort out.")

    # What the engine and the talk say

    def _hear_loading(self, event: Event) -> None:
        if isinstance(event, Noticed):
            self._note_draft(event.text)
            self._say(event.text)

    def _note_draft(self, text: str) -> None:
        draft = self.ready and self.ready.draft
        self._draft_failed |= bool(draft and Path(draft.path).name in text)

    def _take(self, event: TalkEvent) -> None:
        console = self._console
        match event:
            case Loading():
                console.loading(event)
            case Noticed(text):
                self._note_draft(text)
            case Prefilled(role, done, total):
                console.say(f"the {role} reads the question: {done} of {total} tokens")
            case Decoded() | Finished():
                self._hear(0, event)
            case OneOf(number, told):
                self._hear(number, told)
            case Answered():
                self.answered = event
            case Failed():
                self._failed = event
                self._printing.end_all()  # what was said so far stands on lines of its own
            case ToolsStart(over=False):
                console.keeps = False
            case CallWaits():
                console.keeps = False  # while nothing runs: Ctrl-C is no answer
                self._decide(event)
            case Added(record, number) if record.role != "user":
                console.keeps = True
                if record.role == "assistant" and self.answers[number].finished:
                    self.before.append(self.answers[0])
                    self.answers = [ReceivedAnswer()]
                    self._printing = Printing(self._quiet, 1, self._settings.show_thinking)
            case Changed(record) if record.role == "tool":
                self.answers[0].results.append(record)
                if record.seconds:
                    size = f"{len(record.content):,} characters · {record.seconds:.1f} s"
                    click.echo(f"{record.state}: {size}", err=True)
            case Changed(record) if record.role == "assistant" and record.state != "streaming":
                self._ended.sources = record.attachments
            case Indexing(text, fraction):
                self._say(text, "dim") if fraction is None else console.say(text)
            case Noted(text, severity) if severity != "error":
                self._say(text)
            case NotSaved(reason):
                raise StorageError(reason)
        if monotonic() - self._saved > SAVED_EVERY_S:
            self._saved = monotonic()
            self.talk.answers.keep()

    def _decide(self, waits: CallWaits) -> None:
        """Show a call and its arguments, and say whether it may run."""
        from tui.call_text import access, arguments

        if self._console.interrupted:  # it stays undecided
            self._console.give_up()
            return
        self._console.hush()
        given = [f"  {name}: {value}" for name, value in arguments(waits.call)]
        click.echo(safe("\n".join([f"Call of {waits.call.name}", *given])), err=True)
        allowed = self._may_run(waits.tool, safe(access(waits.tool)))
        self.talk.calls.decide("once" if allowed else "refuse")

    def _may_run(self, tool: "OfferedTool", access: str) -> bool:
        asks = not self._yes and all(each and each.isatty() for each in (sys.stdin, sys.stderr))
        if not asks and tool.read_only:
            return True
        click.echo(access if asks else f"Refused. {access}", err=True)
        return asks and click.confirm("Run it?", default=False, err=True)

    def _hear(self, number: int, event: Decoded | Finished) -> None:
        """Show what an answer says."""
        given = self.answers[number]
        shown = self._settings.show_thinking or given.finished or said(given.tokens)
        if isinstance(event, Decoded) and not shown and not said(event.tokens):
            self._console.say(f"thinking: {event.stats.thought_tokens:,} tokens")
        else:
            self._console.hush()
        if isinstance(event, Decoded):
            given.tokens += event.tokens
            given.last = event if event.forecast else given.last  # not text that was held back
            self._printing.add(number, event.tokens)
        else:
            given.finished, self._ended = event, given
            if event.text or not event.calls:
                self._printing.end(number)

    def _warn(self, no_draft: str | None) -> None:
        """Say why there is no draft, if somebody may expect one."""
        ready, settings = self.ready, self._settings
        expected = settings.draft or settings.mode != "ars"
        if ready is None or ready.draft or settings.draft == NO_DRAFT or not expected:
            return
        self._say(draft_use.refused(no_draft or str(ready.no_draft), ready, settings))
        if ready.rolls_back and not no_draft:  # the file was found, and another one may work
            self._say(draft_use.fitting(settings))

    def _doubt_draft(self, ends: Sequence[Finished]) -> None:
        """Say that a draft was no help, or that a requested one was not used."""
        settings, draft = self._settings, self.ready and self.ready.draft
        if not draft or not ends:
            return
        if text := draft_use.rejected(ends[0].stats, draft):
            self._say(f"{text} {draft_use.fitting(settings)}")
        elif draft_use.is_named(settings) and not self._draft_failed:
            self._say(draft_use.unused(ends[0].stats, draft, settings))

    def _say(self, text: str | None, style: str = "yellow") -> None:
        if text:
            self._console.console.print(Text(safe(text), style), soft_wrap=True)

    def _summarise(self) -> None:
        ends = [given.finished for given in self.answers if given.finished]
        self._doubt_draft(ends)
        if not ends or self._quiet:
            return
        sources = {each.title: "" for given in self.answers for each in given.sources}
        self._say("\n".join(map(one_line, sources)), "dim")
        if self.answered is None:
            line = [*figures(ends[0].stats), self._mode(ends), ends[0].stop]
        else:
            line = [*of_several(self.answered, len(ends)), self._mode(ends)]
        if self._continued is not None:
            line.append(f"conversation {self.talk.path.conversation}")
        self._say(" · ".join(line), "dim")
        if len(ends) == 1 and ends[0].stats.masked_rows and self._form is not None:
            self._say(of_form(ends[0].stats), "dim")
        last = self.answers[0].last if self.answered is None else None
        if last is not None and (found := outlook(last)).plain_tokens_per_s:
            self._say(" ".join(filter(None, (f"{found.worth}.", found.why))), "dim")

    def _mode(self, ends: Sequence[Finished]) -> str:
        """Return the mode, and whether it was in effect only ArS."""
        mode, proposed = self._settings.mode, any(end.stats.drafted for end in ends)
        return mode if mode == "ars" or proposed else f"{mode}, nothing guessed"
