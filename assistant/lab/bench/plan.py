"""The questions and systems of a run, and those that the papers' tables need."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assistant.lab.bench.answers import Compared, RunAnswer
from assistant.request import SOURCES, Sampling
from assistant.system import System, parse_system
from models.errors import UsageError, raising

COMPLETE = (
    "Complete this Python function. Answer with the whole function, its signature and its imports, "
    "in one code block.\n\n```python\n{code}\n```"
)
DATA = Path(__file__).with_name("data")
"""Prompts that were written for specchat, in the formats of the files that others publish."""


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt, and the reference that its answer is compared with."""

    name: str
    kind: str
    text: str
    reference: str | None = None  # a summary to compare with, or what stood in the gap
    suffix: str | None = None  # the text after a gap that the answer fills


def bundled(name: str) -> list[Question]:
    """Return the prompts that come with specchat.

    Args:
        name: `tasks`, what people ask a local assistant, of seven kinds; `code`, small functions
            to complete, as in HumanEval (Chen et al. 2021); `summaries`, texts with a summary of
            one sentence, as in XSum (Narayan et al. 2018); or `gaps`, in code of six languages, as
            in HumanEval-Infilling (Bavarian et al. 2022).
    """
    return questions_of(DATA / f"{name}.jsonl")


def questions_of(path: Path) -> list[Question]:
    """Return the questions of a JSONL file; of a conversation, the first turn.

    A `UsageError` says that it cannot be read, or that a line is of neither format.
    """
    try:
        with raising(UsageError, f"{path} cannot be read"):
            lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text in UTF-8.") from error
    filled = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    questions = [_question(line, f"{path.name}, line {number}") for number, line in filled]
    if not questions:
        raise UsageError(f"{path} has no questions.")
    return questions


def first_of_each(questions: Sequence[Question], count: int | None) -> list[Question]:
    """Return the first `count` questions of each kind, the kinds in the order of the questions."""
    by_kind: dict[str, list[Question]] = {}
    for question in questions:
        by_kind.setdefault(question.kind, []).append(question)
    return [question for group in by_kind.values() for question in group[:count]]


def _question(line: str, where: str) -> Question:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:  # also of a number with thousands of digits
        raise UsageError(f"{where} is not JSON: {error}.") from error
    match fields:
        case {
            "task_id": str(name), "prompt": str(prefix), "suffix": str(suffix),
            "canonical_solution": str(middle),
        }:  # fmt: skip
            return Question(name, name.partition("/")[0], prefix, middle, suffix)
        case {"task_id": name, "prompt": str(code)}:
            return Question(str(name), "code", COMPLETE.format(code=code.strip("\n")))
        case {"question_id": name, "category": str(kind), "turns": [str(text), *_]}:
            references = fields.get("reference")
            first = [*references, None][0] if isinstance(references, list) else references
            summary = first if isinstance(first, str) and first.strip() else None
            return Question(f"{kind}/{name}", kind, text, summary)
    raise UsageError(
        f"{where} is not a question: HumanEval has task_id and prompt, "
        "Spec-Bench has question_id, category and turns."
    )


DEFAULT = "ars,sps=4,auto"
USAGE = (
    "write ars, auto, sps[=K], or draft sources and K, as in model=4 or suffix+model=3, after "
    "[ENGINE:][TARGET:], as in ik:auto, f16:ars or llama:q4_0:sps=3"
)
LOOKAHEADS = (1, 2, 4, 6, 8)
CHEN_K = 4  # the lookahead of Chen et al.'s table 1
DRAFTS = ("model", "suffix")
GREEDY, NUCLEUS, STANDARD, FILES = "greedy", "nucleus", "T=1", "files"
SAMPLINGS = {
    GREEDY: Sampling(temperature=0, top_k=0, top_p=1),
    NUCLEUS: Sampling(temperature=0.8, top_k=0, top_p=0.8),
    STANDARD: Sampling(temperature=1, top_k=0, top_p=1),
    FILES: Sampling(temperature=0, top_k=0, top_p=1),
}
LONGEST_ANSWERS = {"code": 256}
"""Tokens of the longest answer, where it is not the usual: a function must be complete."""
SUGGESTION = 24  # tokens of the longest answer to a gap
SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class BenchItem:
    """A question to several systems."""

    question: Question
    systems: tuple[System, ...]  # in the order in which they go
    sampling: Sampling
    seed: int | None = None
    repeat: int = 0
    max_tokens: int | None = None  # None: as many as usual

    def answers(self, compared: Compared) -> Iterator[RunAnswer]:
        """Yield the answers from their outcomes."""
        name, kind = self.question.name, self.question.kind
        for system, outcome in zip(self.systems, compared.outcomes, strict=True):
            yield RunAnswer(name, kind, system.name, outcome)


def parse_systems(text: str) -> tuple[System, ...]:
    """Return the systems that `text` lists, separated by commas, after ArS of the same target.

    That is added if it is not listed; of several engines', the first that is. A `UsageError` says
    how to write systems.
    """
    listed = [parse_system(part.strip(), "system", USAGE, SOURCES) for part in text.split(",")]
    names = [system.name for system in listed]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{twice} is listed twice.")
    plain = (system for system in listed if system.mode == "ars" and system.target is None)
    reference = next(plain, System("ars", "ars"))
    return (reference, *(system for system in listed if system != reference))


def sweep_systems(source: str, lookaheads: str) -> tuple[System, ...]:
    """Return ArS and the systems of a source with each of the listed lookaheads, ascending."""
    try:
        ks = sorted({int(part) for part in lookaheads.split(",")} - {0})
    except ValueError as error:
        raise UsageError(f"{lookaheads!r} is not a list of lookaheads, as in 1,2,4,8.") from error
    return parse_systems(",".join(["ars", *(f"{source}={k}" for k in ks)]))


def interleave(
    questions: Sequence[Question],
    systems: Sequence[System],
    sampling: Sampling,
    repeats: int = 1,
    seed: int | None = None,
) -> Iterator[BenchItem]:
    """Yield every question `repeats` times, with the seed of its repeat.

    The order of systems is reversed for each next question, so that none has an advantage.
    """
    order = tuple(systems)
    for repeat in range(repeats):
        for question in questions:
            own_seed = None if seed is None else seed + repeat
            limit = None if question.suffix is None else SUGGESTION
            yield BenchItem(question, order, sampling, own_seed, repeat, limit)
            order = order[::-1]


def paper_systems(labels: Sequence[str]) -> tuple[System, ...]:
    """Return all systems: ArS, lookaheads, copies, auto, and ArS with other files."""
    names = ["ars", *(f"model={k}" for k in LOOKAHEADS), "suffix=1", "auto"]
    return parse_systems(",".join([*names, *(f"{label}:ars" for label in labels)]))


def paper_questions(
    tasks: Sequence[Question], mixed: Sequence[Question], systems: Sequence[System]
) -> Iterator[BenchItem]:
    """Yield all questions with their systems, which are those of `paper_systems`.

    `tasks` are code and summaries, for acceptance, speed and scores; `mixed` are questions of all
    kinds, for the comparison of files.
    """
    by_name = {system.name: system for system in systems}
    ars, auto = by_name["ars"], by_name["auto"]
    model = [system for system in systems if system.sources == ("model",)]
    copies = by_name["suffix=1"]
    files = [system for system in systems if system.target]
    (chen,) = [system for system in model if system.lookahead == CHEN_K]
    yield from _arm(GREEDY, tasks, [ars, *model])
    yield from _arm(GREEDY, tasks, [copies])
    yield from _arm(NUCLEUS, tasks, [ars, chen])
    yield from _arm(STANDARD, tasks, [model[0], copies])
    yield from _arm(FILES, mixed, [*files, ars, chen, auto])


def task_and_sampling(kind: str) -> tuple[str, str]:
    """Return the task and the sampling of a kind."""
    task, _, sampling = kind.rpartition(SEPARATOR)
    return task, sampling


def _arm(key: str, questions: Sequence[Question], systems: Sequence[System]) -> Iterator[BenchItem]:
    for item in interleave(questions, systems, SAMPLINGS[key]):
        kind = item.question.kind
        question = replace(item.question, kind=f"{kind}{SEPARATOR}{key}")
        yield replace(item, question=question, max_tokens=LONGEST_ANSWERS.get(kind))
