"""The questions: the bundled prompts, or a file in the format of HumanEval or Spec-Bench."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.errors import UsageError

COMPLETE = (
    "Complete this Python function. Answer with the whole function, its signature and its imports, "
    "in one code block.\n\n```python\n{code}\n```"
)
DATA = Path(__file__).with_name("data")
"""Prompts that were written for specchat, in the formats of the files that others publish."""


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt, and what its answer can be judged by."""

    name: str
    kind: str
    text: str
    reference: str | None = None  # a summary to compare with


def bundled(name: str) -> list[Question]:
    """Return the prompts that come with specchat.

    Args:
        name: `tasks`, what people ask a local assistant, of seven kinds; `code`, small functions
            to complete, as in HumanEval (Chen et al. 2021); or `summaries`, texts with a summary of
            one sentence, as in XSum (Narayan et al. 2018).
    """
    return read(DATA / f"{name}.jsonl")


def read(path: Path) -> list[Question]:
    """Return the questions of a JSONL file; of a conversation, the first turn.

    Raises:
        UsageError: it cannot be read, or a line is of neither format.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text in UTF-8.") from error
    filled = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    questions = [_question(line, f"{path.name}, line {number}") for number, line in filled]
    if not questions:
        raise UsageError(f"{path} has no questions.")
    return questions


def first_of_each(questions: Sequence[Question], count: int | None) -> list[Question]:
    """Return the first `count` questions of each kind, the kinds in the order of their coming."""
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
