"""The file of a run, and what is measured into it."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui.safe import safe

if TYPE_CHECKING:
    from assistant.lab.bench.run_answers import RunAnswer
    from assistant.lab.bench.run_file import RunFile
    from tui.lab.bench.running import Task


def measured(
    path: Path | None, facts: dict[str, Any], tasks: "Iterable[Task]"
) -> "list[RunAnswer]":
    """Return the answers of a run, after doing the tasks that it lacks."""
    from assistant.lab.bench.run_answers import kept
    from tui.lab.bench.running import Running

    with run_file(path, facts) as run:
        Running(run).run([*tasks])
        return [*kept(run.results)]


@contextmanager
def run_file(path: Path | None, facts: dict[str, Any]) -> "Iterator[RunFile]":
    """Open the file of a run; without a path, a new one among what can be made again."""
    from assistant.lab.bench.run_file import RunFile
    from models.files.places import cache_dir

    if path is None:
        now = datetime.now().strftime("%Y%m%d-%H%M%S")
        path = cache_dir() / "bench" / f"{facts['command']}-{now}.jsonl"
    with closing(RunFile(path, facts)) as run:
        click.echo(safe(f"Results are kept in {path}"), err=True)
        yield run
