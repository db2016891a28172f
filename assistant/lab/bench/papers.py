"""What is measured for the papers' tables: questions, samplings, systems."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assistant.lab.bench.plan import Asked, interleaved
from assistant.lab.bench.questions import Question
from assistant.lab.bench.systems import System, parse
from assistant.request import Sampling

LOOKAHEADS = (1, 2, 4, 6, 8)
CHEN_K = 4
"""The lookahead of Chen et al.'s table 1."""
DRAFTS = ("model", "suffix", "bigram", "unigram", "random")
GREEDY, NUCLEUS, STANDARD, FILES = "greedy", "nucleus", "T=1", "files"
SAMPLINGS = {
    GREEDY: Sampling(temperature=0, top_k=0, top_p=1),
    NUCLEUS: Sampling(temperature=0.8, top_k=0, top_p=0.8),
    STANDARD: Sampling(temperature=1, top_k=0, top_p=1),
    FILES: Sampling(temperature=0, top_k=0, top_p=1),
}
LENGTHS = {"code": 256}
"""Tokens of the longest answer, where it is not the usual: a function must be complete."""
SEPARATOR = " · "


def systems(labels: Sequence[str]) -> tuple[System, ...]:
    """Return all that answer: ArS, lookaheads, other drafts, auto, and ArS with other files."""
    tables = [f"{draft}=1" for draft in DRAFTS[1:]]
    names = ["ars", *(f"model={k}" for k in LOOKAHEADS), *tables, "auto"]
    return parse(",".join([*names, *(f"{label}:ars" for label in labels)]))


def asked(
    tasks: Sequence[Question], mixed: Sequence[Question], ways: Sequence[System]
) -> Iterator[Asked]:
    """Yield all that is asked.

    Args:
        tasks: code and summaries, for acceptance, speed and scores.
        mixed: questions of all kinds, for the comparison of files.
        ways: as `systems` returns them.
    """
    ars, auto = (next(way for way in ways if way.name == name) for name in ("ars", "auto"))
    model = [way for way in ways if way.sources == ("model",)]
    tables = [way for way in ways if way.sources and way not in model]
    (chen,) = [way for way in model if way.lookahead == CHEN_K]
    yield from _arm(GREEDY, tasks, [ars, *model])
    yield from _arm(GREEDY, tasks, tables)
    yield from _arm(NUCLEUS, tasks, [ars, chen])
    yield from _arm(STANDARD, tasks, [model[0], *tables])
    yield from _arm(FILES, mixed, [*(way for way in ways if way.target), ars, chen, auto])


def parts(kind: str) -> tuple[str, str]:
    """Return the task and the sampling of a kind."""
    task, _, sampling = kind.rpartition(SEPARATOR)
    return task, sampling


def _arm(name: str, questions: Sequence[Question], ways: Sequence[System]) -> Iterator[Asked]:
    for each in interleaved(questions, ways, SAMPLINGS[name]):
        kind = each.question.kind
        question = replace(each.question, kind=f"{kind}{SEPARATOR}{name}")
        yield replace(each, question=question, max_tokens=LENGTHS.get(kind))
