"""What the engine holds from one job to the next."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

from assistant.engine.load import Loader
from assistant.engine.policy import Control
from assistant.engine.reply import Assistant

Emit = Callable[[Any], None]


class Closes(Protocol):
    """Something that holds models."""

    def close(self) -> None:
        """Free them."""
        ...


Kept = TypeVar("Kept", bound=Closes)


@dataclass(slots=True)
class EngineState:
    """The models that are loaded, and what the handlers of all jobs work with."""

    control: Control
    emit: Emit
    """Sends an event of the job, but not its last one, which the handler returns."""
    await_step: Callable[[], bool]
    """Wait for a `NextStep`; False means that the job was cancelled and awaits no more of them."""
    loader: Loader | None = None
    assistant: Assistant | None = None
    """The loaded models; None before the first `Setup`, and after one that failed."""
    _created: dict[object, Closes] = field(default_factory=dict)

    def get_or_create(self, factory: Callable[["EngineState"], Kept]) -> Kept:
        """Return what `factory` made for an earlier job, or have it made; `free` closes it."""
        if factory not in self._created:
            self._created[factory] = factory(self)
        return cast(Kept, self._created[factory])

    def free(self) -> None:
        """Close everything that jobs have created, and free the models."""
        self.assistant = None
        while self._created:
            self._created.popitem()[1].close()
        if self.loader is not None:
            self.loader.close()
            self.loader = None


Handler = Callable[[Any, EngineState], object]
"""Does a job of one class and returns its last event; may raise `SpecchatError` and `Cancelled`."""
