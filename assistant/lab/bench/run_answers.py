"""What a run has measured: answers, and how they are kept in its file."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import msgspec

from assistant.lab.bench.events import Measured
from assistant.stats import Stats
from models.errors import StorageError

ANSWER = "answer"
ALL = "all"
"""Stands for a kind: questions of all kinds together."""
Place = tuple[str, str]
"""The kind and the name of a question."""


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """An answer of one system to one question."""

    question: str
    kind: str
    repeat: int
    system: str
    measured: Measured | None  # None: it failed
    failure: str | None = None

    @property
    def key(self) -> str:
        """What it is kept by; no other answer of its run has the same."""
        return key(self.question, self.kind, self.repeat, self.system)


def key(question: str, kind: str, repeat: int, system: str) -> str:
    """Return what an answer is kept by."""
    return f"{ANSWER} | {kind} | {question} | {repeat} | {system}"


def plain(value: object) -> Any:
    """Return an answer, or any figures, as JSON has them: that is how they are kept."""
    return msgspec.to_builtins(value, str_keys=True)


def kept(results: Mapping[str, Any]) -> Iterator[RunAnswer]:
    """Yield the answers among the results of a run.

    Raises:
        StorageError: one is damaged.
    """
    for name, result in results.items():
        if not name.startswith(ANSWER):
            continue
        try:
            yield msgspec.convert(result, RunAnswer, str_keys=True)
        except msgspec.ValidationError as error:
            raise StorageError(f"The run holds no valid answer at {name!r}: {error}.") from error


@dataclass(frozen=True, slots=True)
class Totals:
    """Answers of one system, to one question or to several, added up."""

    answers: tuple[Measured, ...]

    @property
    def stats(self) -> Stats:
        """Their figures, added up."""
        return reduce(Stats.plus, (each.stats for each in self.answers))

    @property
    def is_lockstep(self) -> bool:
        """Whether the answers advanced together with those of other systems."""
        return all(each.pace for each in self.answers)

    @property
    def steps_s(self) -> float:
        """Seconds of the draft's steps, without what it took to read the conversation before them.

        `draft_s` has both; a step's cost, as the papers' formulas mean it, is of these alone.
        """
        return sum(round_.draft_s for each in self.answers for round_ in each.rounds)


def sums(answers: Iterable[RunAnswer], system: str) -> dict[Place, Totals]:
    """Return the answers of a system by kind and question; those that failed are left out."""
    found: dict[Place, list[Measured]] = {}
    for answer in answers:
        if answer.system == system and answer.measured and answer.measured.stats.decode_s:
            found.setdefault((answer.kind, answer.question), []).append(answer.measured)
    return {place: Totals(tuple(measured)) for place, measured in found.items()}


def together(totals: Iterable[Totals]) -> Totals:
    """Return the answers to several questions as one."""
    return Totals(tuple(answer for each in totals for answer in each.answers))


def matched(
    own: Mapping[Place, Totals], reference: Mapping[Place, Totals], kind: str = ALL
) -> dict[Place, tuple[Totals, Totals]]:
    """Return two systems' answers to the questions of a kind that both have answered."""
    return {
        place: (each, reference[place])
        for place, each in own.items()
        if place in reference and kind in (place[0], ALL)
    }


def speedup(own: Totals, reference: Totals) -> float:
    """Return how many times as fast a system was as another one at the same question.

    Answers in lockstep are compared up to the last token that both have: there, each token of one
    came within a second or so of the same token of the other. The rest of a longer answer came
    after the other had ended, when the machine may have been faster or slower. Others are compared
    by all their tokens.
    """
    pairs = [*zip(own.answers, reference.answers, strict=False)]
    common = [min(a.stats.generated_tokens, b.stats.generated_tokens) for a, b in pairs]
    if len(own.answers) != len(reference.answers) or not (
        own.is_lockstep and reference.is_lockstep
    ):
        return own.stats.tokens_per_s / reference.stats.tokens_per_s
    own_s, reference_s = (
        sum(pair[side].seconds_to(tokens) for pair, tokens in zip(pairs, common, strict=True))
        for side in (0, 1)
    )
    return reference_s / own_s


def kinds(answers: Iterable[RunAnswer]) -> list[str]:
    """Return the kinds of questions, in the order of their coming."""
    return list(dict.fromkeys(answer.kind for answer in answers))
