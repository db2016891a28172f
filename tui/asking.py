"""One question to the engine, its answer streamed to the terminal."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from time import perf_counter
from types import FrameType

from rich.console import Console
from rich.text import Text

from assistant.events import (
    Decoded,
    Event,
    Failed,
    Finished,
    Loading,
    Noticed,
    Origin,
    Prefilled,
    Ready,
    Token,
)
from assistant.process.client import EngineProcess
from assistant.request import Message, Request
from assistant.service import Service
from models import errors
from models.files.progress import Progress
from tui.continuing import Continuing
from tui.figures import figures
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
        self._err = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        self._styles = PLAIN if self._out.no_color else COLOURED
        self._status = self._err.status("looking for the models")
        self._said = 0.0
        self._outcome = Outcome()
        self._events: SimpleQueue[Event] = SimpleQueue()

    def run(self) -> Outcome:
        """Ask, and wait for the answer. Ctrl-C ends it early and keeps what was said.

        Raises:
            SpecchatError: there is no answer.
            KeyboardInterrupt: Ctrl-C while loading, or twice.
        """
        try:
            self._converse()
        finally:
            self._err.show_cursor()  # an interrupt may come while the spinner begins
        self._summarise()
        return self._outcome

    def _checking(self, progress: Progress) -> None:
        self._do(f"checking the model files: {progress.done / progress.total:.0%}")

    def _do(self, what: str) -> None:
        """Say what is being done, now and then: each time costs milliseconds."""
        if perf_counter() - self._said > 0.1:
            self._said = perf_counter()
            self._status.update(Text(what))

    def _chooses_by_time(self) -> bool:
        settings = self._settings
        return settings.mode != "ars" and settings.lookahead is None

    def _converse(self) -> None:
        with self._status:
            engine = EngineProcess(self._events.put)  # it starts while the models are looked for
            try:
                setup, no_draft = find_models(self._settings, self._checking)
                setup = replace(setup, measure=self._chooses_by_time())
                with self._interrupts_cancel(engine):
                    engine.load(setup)
                    self._listen(Ready)
                    self._warn(no_draft)
                    engine.reply(self._request())
                    self._listen(Finished)
            finally:
                engine.close()

    @contextmanager
    def _interrupts_cancel(self, engine: Service) -> Iterator[None]:
        """Let Ctrl-C stop the engine, wherever this thread is just then; a second one raises."""

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self._outcome.interrupted or self._outcome.ready is None:
                raise KeyboardInterrupt
            self._outcome.interrupted = True
            engine.cancel()

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _listen(self, end: type[Event]) -> None:
        event: Event | None = None
        while not isinstance(event, end):
            event = self._events.get()
            self._show(event)

    def _show(self, event: Event) -> None:
        match event:
            case Loading(role, name, fraction):
                self._do(f"loading {role} {safe(name)}: {fraction:.0%}")
            case Ready():
                self._outcome.ready = event
            case Noticed(text):
                self._say(text)
            case Prefilled(role, done, total):
                self._do(f"the {role} reads the question: {done} of {total} tokens")
            case Decoded(tokens):
                self._stream(tokens)
                if self._continued is not None:
                    self._continued.add(event)
            case Finished():
                self._outcome.finished = event
                if self._continued is not None:
                    self._continued.finish(event)
            case Failed(message, kind):
                if self._outcome.tokens:
                    self._out.print()  # what was said so far stands on a line of its own
                raise getattr(errors, kind)(message)

    def _stream(self, tokens: Sequence[Token]) -> None:
        self._status.stop()
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
            self._err.print(Text(safe(text), "yellow"))

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
        self._err.print(Text(" · ".join(line), "dim"))

    def _mode(self) -> str:
        """Return the mode, and why an automatic choice was not to speculate."""
        mode, finished = self._settings.mode, self._outcome.finished
        if mode != "auto" or finished is None or any(finished.stats.lookahead_counts.keys() - {0}):
            return mode
        return "ars: speculation does not pay here"
