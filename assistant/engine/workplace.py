"""What jobs of every kind work with, those that the engine itself does not know included."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

from assistant.decoding.lookahead.policy import Control
from assistant.engine.weights_pool import Pool

Emit = Callable[[Any], None]


class Closes(Protocol):
    """Something that is closed when models are freed."""

    def close(self) -> None:
        """Free everything that it has loaded."""
        ...


Kept = TypeVar("Kept", bound=Closes)


@dataclass(frozen=True, slots=True)
class Workplace:
    """What jobs of every kind work with."""

    pool: Pool
    control: Control
    emit: Emit
    _kept: dict[object, Closes] = field(default_factory=dict)

    def kept(self, make: Callable[[Pool, Control, Emit], Kept]) -> Kept:
        """Return what was made for an earlier job, unless models were freed since; else make it."""
        if make not in self._kept:
            self._kept[make] = make(self.pool, self.control, self.emit)
        return cast(Kept, self._kept[make])

    def free(self) -> None:
        """Close everything that was kept."""
        while self._kept:
            self._kept.popitem()[1].close()


Handler = Callable[[Any, Workplace], object]
"""Does a job of some class, and returns the event that ends it."""
