"""How good answers are: ROUGE-2 of summaries, tests of code."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from assistant.lab.bench import code_runner
from assistant.lab.bench.questions import Question

_FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```|\Z)", re.MULTILINE | re.DOTALL)


def rouge_2(text: str, reference: str) -> float:
    """Return the F1 of the pairs of neighbouring words that both have.

    Lin 2004, without stemming: words are letters and digits, in small letters.
    """
    ours, theirs = _pairs(text), _pairs(reference)
    common = (ours & theirs).total()
    return 2 * common / (ours.total() + theirs.total()) if common else 0.0


def passes(text: str, question: Question, runner: Sequence[str]) -> bool:
    """Say whether the code in an answer passes the question's test; `runner` runs it.

    Raises:
        UsageError: the runner does not run code.
    """
    return code_runner.run(program(text, question), runner)


def program(text: str, question: Question) -> str:
    """Return the code of an answer and the question's test as one program.

    What lacks the function's signature is taken for the rest of the function.
    """
    fenced = _FENCE.search(text)
    code = fenced[1] if fenced else text
    if not re.search(rf"^\s*def {re.escape(question.entry_point or '')}\b", code, re.MULTILINE):
        code = f"{question.code}{code}"
    elif question.code and "import" in question.code:
        code = f"{_imports(question.code)}\n{code}"
    return f"{code}\n\n{question.test}\n\ncheck({question.entry_point})\n"


def _imports(code: str) -> str:
    lines = code.splitlines()
    return "\n".join(line for line in lines if line.startswith(("import ", "from ")))


def _pairs(text: str) -> Counter[tuple[str, str]]:
    words = re.findall(r"\w+", text.lower())
    return Counter(pairwise(words))
