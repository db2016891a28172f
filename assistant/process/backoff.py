"""Patience with a setup that ends every worker that loads it."""

from time import monotonic

from assistant.request import Setup

LONGEST = 60.0
"""Seconds after which even that is tried again."""


class Backoff:
    """Refuse to load the models again too soon: at once the first time, then more and more late."""

    def __init__(self) -> None:
        self._deaths = 0  # in a row, while loading
        self._not_before = 0.0

    def note_death(self) -> None:
        """Note that a worker has died while it loaded."""
        self._deaths += 1
        self._not_before = monotonic() + min(LONGEST, 2 ** (self._deaths - 1) - 1)

    def forget(self) -> None:
        """Note that models have been loaded."""
        self._deaths, self._not_before = 0, 0.0

    def refusal(self, setup: Setup) -> str | None:
        """Return why a setup is not tried again yet, or None if it is."""
        pause = self._not_before - monotonic()
        if pause <= 0:
            return None
        return (
            f"The engine's process ended {self._deaths} times in a row while it loaded "
            f"{setup.target.name}; it is tried again in {pause:.0f} seconds at the earliest. "
            "Choose another model, or check this one with `specchat models check`."
        )
