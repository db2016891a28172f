"""What the engine does for a user interface, be it in the same process or in its own."""

from typing import Protocol

from assistant.request import Count, Mode, Race, Request, Sampling, Setup


class Service(Protocol):
    """Jobs in, in order; events out, through the function that it was made with.

    All methods may be called from any thread and, but for `close`, return at once.
    """

    def load(self, setup: Setup) -> None:
        """Replace the models; ends in `Ready` or `Failed`."""
        ...

    def reply(self, request: Request) -> None:
        """Answer; ends in `Finished`, for several answers in `Answered`, or in `Failed`."""
        ...

    def race(self, race: Race) -> None:
        """Answer in several lanes, in turns; ends in `RaceOver` or `Failed`."""
        ...

    def count(self, count: Count) -> None:
        """Count the tokens of a text; ends in `Counted`, or in nothing without a model."""
        ...

    def steer(
        self, mode: Mode, lookahead: int | None = None, sampling: Sampling | None = None
    ) -> None:
        """Change how the last answer asked for is decoded, from the next round on."""
        ...

    def cancel(self) -> None:
        """Stop every job given so far; what was decoded is kept, and a later job runs."""
        ...

    def close(self) -> None:
        """Stop everything, free the models and wait until that is done."""
        ...
