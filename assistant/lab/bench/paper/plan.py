"""What is measured for the papers' tables: questions, samplings, systems."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assistant.lab.bench.questions import Question
from assistant.lab.bench.systems import System, interleaved, parse
from assistant.request import Sampling

LOOKAHEADS = (1, 2, 4, 6, 8)
CHEN_K = 4
"""The lookahead of Chen et al.'s table 1."""
DRAFTS = ("model", "suffix", "bigram", "unigram", "random")
GREEDY, NUCLEUS, STANDARD = "greedy", "nucleus", "T=1"
SAMPLINGS = {
    GREEDY: Sampling(temperature=0, top_k=0, top_p=1),
    NUCLEUS: Sampling(temperature=0.8, top_k=0, top_p=0.8),
    STANDARD: Sampling(temperature=1, top_k=0, top_p=1),
}
LENGTHS = {"code": 256}
"""Tokens of the longest answer, where it is not 128: a function must be complete."""
SEPARATOR = " · "
FILES = "files"


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """A question to several systems; its kind tells the sampling too."""

    question: Question
    systems: tuple[System, ...]  # in the order in which they go
    sampling: Sampling
    profiled: tuple[str, ...] = ()  # sources that are judged along ArS's answer
    max_tokens: int | None = None


def systems(labels: Sequence[str]) -> tuple[System, ...]:
    """Return all that answer: ArS, each lookahead, auto, and ArS with each other file."""
    names = ["ars", *(f"model={k}" for k in LOOKAHEADS), "auto"]
    return parse(",".join([*names, *(f"{label}:ars" for label in labels)]))


def asked(
    tasks: Sequence[Question], mixed: Sequence[Question], ways: Sequence[System]
) -> Iterator[PlannedAnswer]:
    """Yield all that is asked.

    Args:
        tasks: what can be scored: code and summaries.
        mixed: questions of all kinds, for the comparison of files.
        ways: as `systems` returns them.
    """
    by_name = {way.name: way for way in ways}
    ars, chen = by_name["ars"], by_name[f"model={CHEN_K}"]
    sweep = [ars, *(by_name[f"model={k}"] for k in LOOKAHEADS)]
    others = [way for way in ways if way.target]
    yield from _arm(GREEDY, tasks, sweep, DRAFTS)
    yield from _arm(NUCLEUS, tasks, [ars, chen])
    yield from _arm(STANDARD, tasks, [ars], DRAFTS)
    lanes = [*others, ars, chen, by_name["auto"]]
    yield from _arm(FILES, mixed, lanes)


def parts(kind: str) -> tuple[str, str]:
    """Return the task and the sampling of a kind."""
    task, _, sampling = kind.rpartition(SEPARATOR)
    return task, sampling


def _arm(
    name: str,
    questions: Sequence[Question],
    ways: Sequence[System],
    profiled: tuple[str, ...] = (),
) -> Iterator[PlannedAnswer]:
    sampling = SAMPLINGS.get(name, SAMPLINGS[GREEDY])
    for _, question, order in interleaved(questions, ways):
        kind = f"{question.kind}{SEPARATOR}{name}"
        length = LENGTHS.get(question.kind)
        yield PlannedAnswer(replace(question, kind=kind), tuple(order), sampling, profiled, length)
