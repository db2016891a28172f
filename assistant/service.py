"""What the engine does for a user interface: jobs in, events out."""

from collections.abc import Callable
from typing import Any, Protocol

from assistant.request import AnyJob, Cancel, Mode, Sampling, Steer

Hear = Callable[[Any], None]
"""Hears every event of a job, and None after the last one. It must not block and must not raise."""


class Ticket:
    """A job that was given to the engine; may be used on any thread. Once it is over, it is inert.

    Args:
        job: what is to be done.
        hear: hears of it.
        tell: hands an order to whoever has the job done.
    """

    def __init__(
        self, job: AnyJob, hear: Hear, tell: "Callable[[Ticket, Steer | Cancel], None]"
    ) -> None:
        self.job, self.hear = job, hear
        self._tell = tell

    def cancel(self) -> None:
        """Stop the job; what was decoded is kept, and other jobs are done as ever."""
        self._tell(self, Cancel())

    def steer(
        self, mode: Mode, lookahead: int | None = None, sampling: Sampling | None = None
    ) -> None:
        """Change how an answer is decoded, from the next round on."""
        self._tell(self, Steer(mode, lookahead, sampling))


Submit = Callable[[AnyJob, Hear], Ticket]
"""Has a job done after those before it."""


class Service(Protocol):
    """Does jobs, one after another, in the order they are given."""

    def submit(self, job: AnyJob, hear: Hear) -> Ticket:
        """Have a job done; return at once. May be called from any thread.

        Its last event is that of its kind, or `Failed`; `hear` is called on another thread.
        """
        ...

    def close(self) -> None:
        """Stop everything, free the models and wait until that is done; nothing more is heard."""
        ...
