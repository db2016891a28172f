"""A race without a screen: run it, then print the scoreboard or one JSON object."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType

import click
from rich.console import Console
from rich.text import Text

from assistant.events import Event, Failed, Lap, Lined, Loading, RaceOver
from assistant.process.client import EngineProcess
from assistant.request import Race
from assistant.service import Service
from models import errors
from models.files.progress import Progress
from tui.race.judging import verdict
from tui.race.lanes import Entry, line_up
from tui.race.report import report
from tui.race.scores import table
from tui.race.track import Standing, Track
from tui.safe import safe
from tui.settings import Settings

FAILED = 3
INTERRUPTED = 130


def find(entries: tuple[Entry, ...], settings: Settings, prompt: str) -> Race:
    """Find the lanes' models, and say so where it takes a while.

    Raises:
        SpecchatError: a lane lacks what it needs.
    """
    with Console(stderr=True).status("looking for the models") as status:

        def say(progress: Progress) -> None:
            share = progress.done / progress.total if progress.total else 0.0
            status.update(Text(f"checking the model files: {share:.0%}"))

        return line_up(entries, settings, prompt, say)


def run(race: Race, as_json: bool) -> int:
    """Have a race run, print what came of it, and return the exit code.

    Raises:
        SpecchatError: no lane could start.
    """
    racing = Racing(race)
    racing.run()
    sentence = verdict(racing.standings, race.request.sampling.temperature == 0)
    if as_json:
        click.echo(json.dumps(report(race, racing.tracks, sentence)))
    else:
        click.echo("\n".join(safe("  ".join(row)) for row in table(racing.standings)))
        click.echo(f"\n{safe(sentence)}")
    failures = [f"{each.lane.name}: {each.failed}" for each in racing.standings if each.failed]
    for failure in failures:
        click.echo(safe(failure), err=True)
    return INTERRUPTED if racing.interrupted else FAILED if failures else 0


class Racing:
    """Run a race and record what its lanes say; progress goes to standard error."""

    def __init__(self, race: Race) -> None:
        self.tracks = [Track(lane) for lane in race.lanes]
        self.interrupted = False
        self._race = race
        self._started = False
        self._console = Console(stderr=True)
        self._status = self._console.status("starting")
        self._events: SimpleQueue[Event] = SimpleQueue()

    @property
    def standings(self) -> list[Standing]:
        """How far every lane has come."""
        return [track.standing for track in self.tracks]

    def run(self) -> None:
        """Run it to its end. Ctrl-C ends it early and keeps what was said.

        Raises:
            SpecchatError: no lane could start.
            KeyboardInterrupt: Ctrl-C while loading, or twice.
        """
        engine = EngineProcess(self._events.put)
        try:
            with self._status, self._interrupts_cancel(engine):
                engine.race(self._race)
                while not isinstance(event := self._events.get(), RaceOver):
                    self._hear(event)
        finally:
            engine.close()
            self._console.show_cursor()  # an interrupt may come while the spinner begins

    @contextmanager
    def _interrupts_cancel(self, engine: Service) -> Iterator[None]:
        """Let Ctrl-C stop the lanes; before they have started, and the second time, it raises."""

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self.interrupted or not self._started:
                raise KeyboardInterrupt
            self.interrupted = True
            engine.cancel()

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _hear(self, event: Event) -> None:
        match event:
            case Loading(role, name, fraction):
                self._status.update(Text(f"loading {role} {safe(name)}: {fraction:.0%}"))
            case Lined(lanes):
                self._started = True
                for track, ready in zip(self.tracks, lanes, strict=True):
                    track.line_up(ready)
            case Lap(lane):
                self.tracks[lane].record(event)
                self.tracks[lane].play()
                self._status.update(Text(self._progress()))
            case Failed(message, kind):
                raise getattr(errors, kind)(message)

    def _progress(self) -> str:
        counts = [
            f"{safe(each.lane.name)} {each.stats.generated_tokens if each.stats else 0}"
            for each in self.standings
        ]
        return f"tokens so far: {', '.join(counts)}"
