"""A worker with one kind of job beyond those of a chat."""

from dataclasses import dataclass

from assistant.engine.engine import HANDLERS, EngineState
from assistant.events import Event
from assistant.process.wire import Protocol
from assistant.process.worker import main
from assistant.request import Job


@dataclass(frozen=True, slots=True)
class Toy:
    """Turn a word round."""

    word: str


@dataclass(frozen=True, slots=True)
class Toyed:
    """A word that was turned round."""

    word: str


def toy(job: Toy, state: EngineState) -> Toyed:
    return Toyed(job.word[::-1] or state)  # type: ignore[arg-type]  # which no pipe carries


TOY = Protocol("tests.assistant.process.fakes.toy", Job | Toy, Event | Toyed)

if __name__ == "__main__":
    main(lambda: (TOY, {**HANDLERS, Toy: toy}))
