"""One question to the engine, its answer streamed to the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.console import Console
from rich.text import Text

from assistant.events import (
    Decoded,
    Event,
    Failed,
    Finished,
    Noticed,
    Origin,
    Prefilled,
    Ready,
    Token,
)
from assistant.request import Message, Request
from tui.continuing import Continuing
from tui.figures import figures
from tui.listening import Listening
from tui.locating import NO_DRAFT, find_models
from tui.safe import safe
from tui.settings import Settings

# Attributes survive where colours do not, so without colours each origin has one.
COLOURED = {Origin.DRAFT: "green", Origin.RESIDUAL: "yellow", Origin.TARGET: ""}
PLAIN = {Origin.DRAFT: "underline", Origin.RESIDUAL: "bold", Origin.TARGET: ""}


@dataclass(slots=True)
class Outcome:
    """What came of a question."""

    ready: Ready | None = None
    finished: Finished | None = None
    tokens: list[Token] = field(default_factory=list)
    interrupted: bool = False


class Output(Console):
    """A console that leaves it to the caller what to do when its reader has gone."""

    def on_broken_pipe(self) -> None:
        """Raise the error again, where rich would exit."""
        raise


class Asking:
    """Ask one question and show what the engine says about it.

    The answer goes to standard output unless `quiet`, progress and a summary to standard error.
    Both question and answer become part of the conversation that is `continued`, if one is.
    """

    def __init__(
        self,
        settings: Settings,
        question: str,
        stop_strings: Sequence[str],
        quiet: bool,
        continued: Continuing | None = None,
    ) -> None:
        self._settings = settings
        self._continued = continued
        self._question = question
        self._stop_strings = tuple(stop_strings)
        self._quiet = quiet
        self._out = Output(quiet=quiet, highlight=False, markup=False, soft_wrap=True)
        self._styles = PLAIN if self._out.no_color else COLOURED
        self._listening = Listening("looking for the models", lively=True)
        self._outcome = Outcome()

    def run(self) -> Outcome:
        """Ask, and wait for the answer. Ctrl-C ends it early and keeps what was said.

        Raises:
            SpecchatError: there is no answer.
            KeyboardInterrupt: Ctrl-C while loading, or twice.
        """
        with self._listening.shown():
            self._converse()
        self._outcome.interrupted = self._listening.interrupted
        self._summarise()
        return self._outcome

    def _chooses_by_time(self) -> bool:
        settings = self._settings
        return settings.mode != "ars" and settings.lookahead is None

    def _converse(self) -> None:
        listening = self._listening
        engine = listening.engine  # it starts while the models are looked for
        setup, no_draft = find_models(self._settings, listening.checking)
        engine.load(replace(setup, measure=self._chooses_by_time()))
        self._outcome.ready = listening.until(Ready, self._show, keeps=False)
        self._warn(no_draft)
        engine.reply(self._request())
        self._outcome.finished = listening.until(Finished, self._show)

    def _show(self, event: Event) -> None:
        match event:
            case Noticed(text):
                self._say(text)
            case Prefilled(role, done, total):
                self._listening.say(f"the {role} reads the question: {done} of {total} tokens")
            case Decoded(tokens):
                self._stream(tokens)
                if self._continued is not None:
                    self._continued.add(event)
            case Finished():
                if self._continued is not None:
                    self._continued.finish(event)
            case Failed() if self._outcome.tokens:
                self._out.print()  # what was said so far stands on a line of its own

    def _stream(self, tokens: Sequence[Token]) -> None:
        self._listening.hush()
        self._outcome.tokens.extend(tokens)
        for token in tokens:
            self._out.print(Text(safe(token.text), self._styles[token.origin]), end="")
        self._out.file.flush()

    def _warn(self, no_draft: str | None) -> None:
        """Say why there is no draft, if somebody may expect one."""
        reason = no_draft or (self._outcome.ready and self._outcome.ready.no_draft)
        wanted = self._settings.mode != "ars" and self._settings.draft != NO_DRAFT
        if reason and wanted:
            self._say(f"{reason} Proposals come from the conversation alone.")

    def _say(self, text: str | None) -> None:
        if text:
            self._listening.console.print(Text(safe(text), "yellow"), soft_wrap=True)

    def _request(self) -> Request:
        ready = self._outcome.ready
        if self._continued is not None and ready is not None:
            self._say(self._continued.notice)
            request = self._continued.ask(self._question, ready.target, self._settings)
            return replace(request, stop_strings=self._stop_strings, alternatives=0)
        system = self._settings.system
        messages = (Message("system", system),) if system else ()
        return Request(
            (*messages, Message("user", self._question)),
            self._settings.sampling,
            self._settings.mode,
            self._settings.lookahead,
            self._settings.max_tokens,
            self._settings.seed,
            self._stop_strings,
            sources=self._settings.draft_sources,
            rule=self._settings.rule,
        )

    def _summarise(self) -> None:
        if self._outcome.finished is None or self._quiet:
            return
        self._out.print()
        line = [*figures(self._outcome.finished.stats), self._mode(), self._outcome.finished.stop]
        if self._continued is not None:
            line.append(f"conversation {self._continued.number}")
        self._listening.console.print(Text(" · ".join(line), "dim"), soft_wrap=True)

    def _mode(self) -> str:
        """Return the mode, and why an automatic choice was not to speculate."""
        mode, finished = self._settings.mode, self._outcome.finished
        if mode != "auto" or finished is None or any(finished.stats.lookahead_counts.keys() - {0}):
            return mode
        return "ars: speculation does not pay here"
