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
from assistant.lab.bench.report import Report
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

    `remark` says why answers have no score; `files` has the facts of each model file, by role.
    """
    table_1, lines = chen.section(answers, scores, remark)
    figure_1, steps = chen.figure_1(answers, ways)
    pair = [read(Path(files[role]["path"])) for role in ("target", "draft")]
    target, draft = (header.tensors.parameters for header in pair)
    ratio = draft / target if target else 0.0  # of a token's operations
    theirs, alphas, speeds = leviathan.section(answers, ratio)
    label = pair[0].file_type or "target"
    fewer, columns = qualcomm.section(answers, ways, label)
    sizes = qualcomm.sizes(ways, label, {role: file["size"] for role, file in files.items()})
    bound, ceilings = qualcomm.ceilings(columns, sizes, bytes_per_s)
    sections = (table_1, figure_1, theirs, fewer, bound)
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
    return Report("The papers' tables and figures, on this machine", sections), figures


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
