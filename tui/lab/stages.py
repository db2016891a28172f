"""Print on standard error what begins, and about how long the rest will take."""

from time import monotonic

import click

from tui.safe import safe
from tui.widgets.text_figures import duration


class Stages:
    """Announces each of a number of stages."""

    def __init__(self, total: int) -> None:
        self._total, self._begun, self._started = total, 0, monotonic()

    def __call__(self, note: str) -> None:
        """Say what begins."""
        done, self._begun = self._begun, self._begun + 1
        left = (monotonic() - self._started) / max(1, done) * (self._total - done)
        about = f" · about {duration(left)} left" if done > 1 else ""
        click.echo(f"{self._begun} of {self._total}: {safe(note)}{about}", err=True)
