"""Do tasks one after another, save each result, and show the progress."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any

import click

from assistant.lab.bench.run_answers import RunAnswer, kept
from assistant.lab.bench.run_file import RunFile
from assistant.lab.protocol import LAB, Gauge, Lockstep
from models.errors import SpecchatError
from models.files.places import cache_dir
from tui.safe import safe
from tui.shell.engine_console import EngineConsole
from tui.widgets.text_figures import left

LINE_EVERY_S = 30.0
"""Seconds between two lines of progress without a terminal."""


@dataclass(frozen=True, slots=True)
class Task:
    """Something to measure, and how its result is saved."""

    keys: tuple[str, ...]  # of its results, which are all there or are measured again
    what: str  # as a user would say it
    job: Lockstep | Gauge | Callable[[], Any]
    keep: Callable[[Any], Sequence[Any]]  # hears what came of it, and returns the results


class Running:
    """Do what a run file lacks; what is done is on disk before the next begins."""

    def __init__(self, file: RunFile) -> None:
        self._file = file
        self._listening = EngineConsole("starting", protocol=LAB)
        self._said = 0.0

    def run(self, tasks: Sequence[Task]) -> None:
        """Do them.

        Raises:
            SpecchatError: a model cannot be used, or the engine has died; what was done is kept.
            KeyboardInterrupt: Ctrl-C; what was done is kept.
        """
        lacking = [task for task in tasks if not self.is_done(task)]
        if not lacking:
            return
        if len(lacking) < len(tasks):
            self._say(f"{len(tasks) - len(lacking)} of {len(tasks)} are done already")
        try:
            with self._listening.shown():
                self._run(lacking, len(tasks))
        except (KeyboardInterrupt, SpecchatError):
            done = sum(map(self.is_done, tasks))
            self._say(
                f"{done} of {len(tasks)} are kept. To go on, give the same command with "
                f"--run {self._file.path}"
            )
            raise

    def _run(self, tasks: Sequence[Task], total: int) -> None:
        started = monotonic()
        for done, task in enumerate(tasks):
            left_s = (monotonic() - started) / done * (len(tasks) - done) if done else None
            self._progress(total - len(tasks) + done, total, task, left_s)
            results = task.keep(self._do(task.job))
            for key, result in zip(task.keys, results, strict=True):
                self._file.add(key, result)

    def is_done(self, task: Task) -> bool:
        """Say whether the file has all results of a task."""
        return all(key in self._file.results for key in task.keys)

    def _do(self, job: Lockstep | Gauge | Callable[[], Any]) -> Any:
        """Return the result of a job."""
        if self._listening.interrupted:
            raise KeyboardInterrupt
        if not isinstance(job, Lockstep | Gauge):
            self._listening.keeps = False  # it is done in this process
            try:
                return job()
            finally:
                self._listening.keeps = True
        return self._listening.run(job)

    def _progress(self, done: int, total: int, task: Task, left_s: float | None) -> None:
        due = not done or monotonic() - self._said > LINE_EVERY_S
        self._listening.say(f"{done + 1} of {total}{left(left_s)}: {task.what}", aloud=due)
        if due:
            self._said = monotonic()

    def _say(self, line: str) -> None:
        click.echo(safe(line), err=True)


def measured(path: Path | None, facts: dict[str, Any], tasks: Iterable[Task]) -> list[RunAnswer]:
    """Return the answers of a run, after doing the tasks that it lacks."""
    with run_file(path, facts) as run:
        Running(run).run([*tasks])
        return [*kept(run.results)]


@contextmanager
def run_file(path: Path | None, facts: dict[str, Any]) -> Iterator[RunFile]:
    """Open the file of a run; without a path, a new one among what can be made again."""
    if path is None:
        now = datetime.now().strftime("%Y%m%d-%H%M%S")
        path = cache_dir() / "bench" / f"{facts['command']}-{now}.jsonl"
    with closing(RunFile(path, facts)) as run:
        click.echo(safe(f"Results are kept in {path}"), err=True)
        yield run
