"""What all jobs share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

from assistant.decoding.lookahead.policy import Control
from assistant.engine.load import Loader
from assistant.engine.reply import Assistant
from assistant.engine.weights_pool import Pool

Emit = Callable[[Any], None]


class Closes(Protocol):
    """Something that is closed when models are freed."""

    def close(self) -> None:
        """Free everything that it has loaded."""
        ...


Kept = TypeVar("Kept", bound=Closes)


@dataclass(slots=True)
class Workplace:
    """What jobs of every kind work with; `emit` is for what they say before their last event."""

    pool: Pool
    control: Control
    emit: Emit
    loader: Loader | None = None
    assistant: Assistant | None = None
    """The models that were loaded last."""
    _kept: dict[object, Closes] = field(default_factory=dict)

    def kept(self, make: Callable[[Pool, Control, Emit], Kept]) -> Kept:
        """Return what was made for an earlier job, unless models were freed since; else make it."""
        if make not in self._kept:
            self._kept[make] = make(self.pool, self.control, self.emit)
        return cast(Kept, self._kept[make])

    def free(self) -> None:
        """Free the models, and close everything that was kept."""
        self.assistant = None
        while self._kept:
            self._kept.popitem()[1].close()
        if self.loader is not None:
            self.loader.close()
            self.loader = None


Handler = Callable[[Any, Workplace], object]
"""Does a job of some class, and returns the event that ends it."""
