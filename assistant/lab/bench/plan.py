"""What is asked: questions to systems, all of one question together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assistant.lab.bench.answers import Compared, RunAnswer
from assistant.lab.bench.questions import Question
from assistant.lab.bench.systems import System
from assistant.request import Sampling


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to several systems."""

    question: Question
    systems: tuple[System, ...]  # in the order in which they go
    sampling: Sampling
    seed: int | None = None
    repeat: int = 0
    max_tokens: int | None = None  # None: as many as usual

    @property
    def keys(self) -> list[str]:
        """What the answers are kept by: no others of a run have the same."""
        place = f"{self.question.kind} | {self.question.name} | {self.repeat}"
        return [f"answer | {place} | {system.name}" for system in self.systems]

    def answers(self, compared: Compared) -> Iterator[RunAnswer]:
        """Yield what came of it."""
        name, kind = self.question.name, self.question.kind
        for system, found in zip(self.systems, compared.found, strict=True):
            outcome = (None, found) if isinstance(found, str) else (found,)
            yield RunAnswer(name, kind, self.repeat, system.name, *outcome)


def interleaved(
    questions: Sequence[Question],
    systems: Sequence[System],
    sampling: Sampling,
    repeats: int = 1,
    seed: int | None = None,
) -> Iterator[Asked]:
    """Yield every question `repeats` times, with the seed of its repeat.

    The next one has the opposite order of systems: it is nobody's advantage to come first.
    """
    order = tuple(systems)
    for repeat in range(repeats):
        for question in questions:
            own = None if seed is None else seed + repeat
            yield Asked(question, order, sampling, own, repeat)
            order = order[::-1]
