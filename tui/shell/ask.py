"""Ask the engine one question, and stream the answer to the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from assistant.events import (
    Answered,
    Decoded,
    Event,
    Failed,
    Finished,
    Noticed,
    OneOf,
    Prefilled,
    Ready,
    Stop,
    Token,
)
from assistant.request import AnswerForm, Message, Request, ToolCall, ToolChoice
from assistant.tokens import said
from models.errors import UsageError
from tui.chat import draft_use
from tui.chat.panel.outlook import outlook
from tui.chat.tools.calls import STOPPED, End, again, told, without_more
from tui.figures import figures, of_form, of_several
from tui.models.locate_pair import NO_DRAFT, find_models
from tui.safe import safe
from tui.settings.settings import Settings
from tui.shell.continue_chat import Continuing
from tui.shell.engine_console import EngineConsole
from tui.shell.printing import Printing

if TYPE_CHECKING:  # few ask for tools
    from tui.shell.ask_tools import AskTools

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
    results: list[tuple[ToolCall, End, float]] = field(default_factory=list)  # and seconds


@dataclass(slots=True)
class AskOutcome:
    """The outcome of a question."""

    answers: list[ReceivedAnswer]
    ready: Ready | None = None
    answered: Answered | None = None  # when several answers were asked for
    interrupted: bool = False
    before: list[ReceivedAnswer] = field(default_factory=list)  # answers that asked for calls

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


class AskSession:
    """Ask one question, for one answer or several, and show what the engine says about it.

    Answers go to standard output unless `quiet`, progress and a summary to standard error.
    Both question and answer become part of the conversation that is `continued`, if one is.
    """

    def __init__(
        self,
        console: EngineConsole,
        settings: Settings,
        question: str,
        stop_strings: Sequence[str],
        quiet: bool,
        continued: Continuing | None = None,
        answers: int = 1,
        form: AnswerForm | None = None,
        tools: "AskTools | None" = None,
    ) -> None:
        self._form, self._tools = form, tools
        self._settings = settings
        self._continued = continued
        self._question = question
        self._stop_strings = tuple(stop_strings)
        self._quiet = quiet
        self._printing = Printing(quiet, answers, settings.show_thinking)
        self._listening = console
        self._draft_failed = False  # in the answer, which the engine has said
        self._outcome = AskOutcome([ReceivedAnswer() for _ in range(answers)])

    def run(self) -> AskOutcome:
        """Ask, and wait for the answer. Ctrl-C ends it early and keeps the text so far.

        Raises:
            SpecchatError: there is no answer.
            KeyboardInterrupt: Ctrl-C while loading, or twice.
        """
        self._converse()
        self._outcome.interrupted = self._listening.interrupted
        self._summarise()
        return self._outcome

    def _chooses_by_time(self) -> bool:
        settings = self._settings
        return settings.mode != "ars" and settings.lookahead is None

    def _converse(self) -> None:
        listening = self._listening
        setup, no_draft = find_models(self._settings, listening.checking)
        setup = replace(setup, measure=self._chooses_by_time())
        self._outcome.ready = listening.run(setup, self._show, keeps=False)
        self._check_thinking(self._outcome.ready)
        self._warn(no_draft)
        request = self._request()
        if self._tools is not None:
            request = replace(request, tools=self._tools.begin())
        end = listening.run(request, self._show)
        if isinstance(end, Answered):
            self._outcome.answered = end
        elif self._tools is not None:
            self._call(request, self._tools)

    def _call(self, request: Request, tools: "AskTools") -> None:
        """Run the calls that the answer asks for, and have it go on, round after round."""
        listening, outcome, model = self._listening, self._outcome, self._outcome.ready
        for left in range(tools.rounds - 1, -1, -1):
            given = outcome.answers[0]
            end = given.finished
            if end is None or not end.calls or listening.interrupted or model is None:
                return
            listening.hush()
            said = Message("assistant", end.text, end.token_ids, end.thought, end.calls)
            messages = [*request.messages, said]
            for call in end.calls:
                result = self._run(call, tools)
                given.results.append(result)
                messages.append(Message("tool", told(result[1]), call_id=call.id))
            if listening.interrupted:
                return
            asked = [each.finished.calls for each in [*outcome.before, given] if each.finished]
            choice: ToolChoice = "auto" if left and not again(asked) else "none"
            known = without_more(messages) if choice == "none" else tuple(messages)
            request = replace(request, messages=known, tools=tools.offered(), tool_choice=choice)
            if self._continued is not None:
                self._continued.again(model.target)
            outcome.before.append(given)
            outcome.answers = [ReceivedAnswer()]
            self._printing = Printing(self._quiet, 1, self._settings.show_thinking)
            listening.run(request, self._show)

    def _run(self, call: ToolCall, tools: "AskTools") -> tuple[ToolCall, End, float]:
        listening, continued = self._listening, self._continued
        if continued is not None:
            continued.call(call)

        def hear(cancel: Callable[[], None]) -> None:
            listening.cancel, listening.keeps = cancel, True

        listening.keeps = False  # while nothing runs: Ctrl-C is no answer
        end, seconds = (STOPPED, 0.0) if listening.interrupted else tools.run(call, hear)
        if continued is not None:
            continued.returned(end, seconds)
        return call, end, seconds

    def _check_thinking(self, ready: Ready) -> None:
        """Refuse what was asked for here and now, and this model cannot do."""
        settings, name = self._settings, ready.target.name
        asked = {key for key, source in settings.sources.items() if source.is_passing}
        if "thinking" in asked and settings.thinking == "on" and not ready.thinks:
            raise UsageError(f"{name} does not think; leave --thinking on out.")
        if "effort" in asked and settings.effort and not ready.takes_effort:
            raise UsageError(f"The chat template of {name} takes no effort; leave --effort out.")

    def _show(self, event: Event) -> None:
        match event:
            case Noticed(text):
                draft = self._outcome.ready and self._outcome.ready.draft
                self._draft_failed |= bool(draft and Path(draft.path).name in text)
                self._say(text)
            case Prefilled(role, done, total):
                self._listening.say(f"the {role} reads the question: {done} of {total} tokens")
            case Decoded() | Finished():
                self._hear(0, event)
            case OneOf(number, told):
                self._hear(number, told)
            case Failed():
                self._printing.end_all()  # what was said so far stands on lines of its own

    def _hear(self, number: int, event: Decoded | Finished) -> None:
        """Show what an answer says, and keep it."""
        given = self._outcome.answers[number]
        shown = self._settings.show_thinking or given.finished or said(given.tokens)
        if isinstance(event, Decoded) and not shown and not said(event.tokens):
            self._listening.say(f"thinking: {event.stats.thought_tokens:,} tokens")
        else:
            self._listening.hush()
        if isinstance(event, Decoded):
            given.tokens += event.tokens
            given.last = event if event.forecast else given.last  # not text that was held back
            self._printing.add(number, event.tokens)
            if self._continued is not None:
                self._continued.add(event, number)
        else:
            given.finished = event
            if event.text or not event.calls:
                self._printing.end(number)
            if self._continued is not None:
                self._continued.finish(event, number)

    def _warn(self, no_draft: str | None) -> None:
        """Say why there is no draft, if somebody may expect one."""
        ready, settings = self._outcome.ready, self._settings
        expected = settings.draft or settings.mode != "ars"
        if ready is None or ready.draft or settings.draft == NO_DRAFT or not expected:
            return
        self._say(draft_use.refused(no_draft or str(ready.no_draft), ready, settings))
        if ready.rolls_back and not no_draft:  # the file was found, and another one may work
            self._say(draft_use.fitting(settings))

    def _doubt_draft(self, ends: Sequence[Finished]) -> None:
        """Say that a draft was no help, or that a requested one was not used."""
        settings, draft = self._settings, self._outcome.ready and self._outcome.ready.draft
        if not draft or not ends:
            return
        if text := draft_use.rejected(ends[0].stats, draft):
            self._say(f"{text} {draft_use.fitting(settings)}")
        elif draft_use.is_named(settings) and not self._draft_failed:
            self._say(draft_use.unused(ends[0].stats, draft, settings, len(ends)))

    def _say(self, text: str | None, style: str = "yellow") -> None:
        if text:
            self._listening.console.print(Text(safe(text), style), soft_wrap=True)

    def _request(self) -> Request:
        ready, answers = self._outcome.ready, len(self._outcome.answers)
        if self._continued is not None and ready is not None:
            self._say(self._continued.notice)
            request = self._continued.ask(self._question, ready.target, self._settings, answers)
            request = replace(request, alternatives=0)
        else:
            request = self._settings.request(self._question)
        return replace(request, stop_strings=self._stop_strings, answers=answers, form=self._form)

    def _summarise(self) -> None:
        ends = [given.finished for given in self._outcome.answers if given.finished]
        self._doubt_draft(ends)
        if not ends or self._quiet:
            return
        if self._outcome.answered is None:
            line = [*figures(ends[0].stats), self._mode(ends), ends[0].stop]
        else:
            line = [*of_several(self._outcome.answered, len(ends)), self._mode(ends)]
        if self._continued is not None:
            line.append(f"conversation {self._continued.number}")
        self._say(" · ".join(line), "dim")
        if len(ends) == 1 and ends[0].stats.masked_rows and self._form is not None:
            self._say(of_form(ends[0].stats), "dim")
        last = self._outcome.answers[0].last if self._outcome.answered is None else None
        if last is not None and (found := outlook(last)).is_measured:
            self._say(" ".join(filter(None, (f"{found.worth}.", found.why))), "dim")

    def _mode(self, ends: Sequence[Finished]) -> str:
        """Return the mode, and whether it was in effect only ArS."""
        mode, proposed = self._settings.mode, any(end.stats.drafted for end in ends)
        return mode if mode == "ars" or proposed else f"{mode}, nothing guessed"
