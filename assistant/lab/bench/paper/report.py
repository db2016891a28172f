"""The report of `specchat bench paper`."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from assistant.lab.bench.paper import chen, leviathan, qualcomm
from assistant.lab.bench.paper.chen import Scores
from assistant.lab.bench.questions import Question
from assistant.lab.bench.report import Report, Section
from assistant.lab.bench.run_answers import RunAnswer
from assistant.lab.bench.systems import System
from models.gguf import read


def report(
    answers: Sequence[RunAnswer],
    ways: Sequence[System],
    scores: Scores,
    remark: str,
    files: Mapping[str, Mapping[str, Any]],
    bytes_per_s: float,
) -> tuple[Report, dict[str, object]]:
    """Return all tables and figures, and what is in them.

    Args:
        answers: what was measured.
        ways: what answered.
        scores: of the answers, as far as they were scored.
        remark: why others were not.
        files: each model file's facts, by role.
        bytes_per_s: how fast memory is read.
    """
    sections: list[Section] = []
    table_1, lines = chen.section(answers, scores, remark)
    figure_1, steps = chen.figure_1(answers, ways)
    pair = [Path(files[role]["path"]) for role in ("target", "draft")]
    ratio = operations_ratio(*pair)
    theirs, alphas, speeds = leviathan.sections(answers, ratio)
    label = quantisation(pair[0])
    fewer, columns = qualcomm.section(answers, ways, label)
    sizes = qualcomm.sizes(ways, label, {role: file["size"] for role, file in files.items()})
    bound, ceilings = qualcomm.ceilings(columns, sizes, bytes_per_s)
    sections += [table_1, figure_1, *theirs, fewer, bound]
    figures = {
        "chen_table_1": lines,
        "chen_figure_1": steps,
        "leviathan_table_3": alphas,
        "leviathan_table_2": speeds,
        "quantisation": columns,
        "ceilings": ceilings,
        "bytes_per_s": bytes_per_s,
        "operations_ratio": ratio,
    }
    return Report("The papers' tables and figures, on this machine", tuple(sections)), figures


def operations_ratio(target: Path, draft: Path) -> float:
    """Return a token's operations in the draft over those in the target: that of the parameters."""
    parameters = [read(path).tensors.parameters for path in (target, draft)]
    return parameters[1] / parameters[0] if parameters[0] else 0.0


def quantisation(target: Path) -> str:
    """Return what a file's weights are called."""
    return read(target).file_type or "target"


def rouge(answers: Sequence[RunAnswer], questions: Mapping[str, Question]) -> Scores:
    """Return the ROUGE-2 of all answers whose question has a reference."""
    return {
        (answer.kind, answer.question, answer.system): rouge_2(answer.measured.text, reference)
        for answer in answers
        if answer.measured
        and (question := questions.get(answer.question))
        and (reference := question.reference)
    }


def rouge_2(text: str, reference: str) -> float:
    """Return the F1 of the pairs of neighbouring words that both have.

    Lin 2004, without stemming: words are letters and digits, in small letters.
    """
    ours, theirs = _pairs(text), _pairs(reference)
    common = (ours & theirs).total()
    return 2 * common / (ours.total() + theirs.total()) if common else 0.0


def _pairs(text: str) -> Counter[tuple[str, str]]:
    return Counter(pairwise(re.findall(r"\w+", text.lower())))
