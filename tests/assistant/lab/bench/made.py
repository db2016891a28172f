"""Benchmark answers with chosen figures."""

from typing import Any

from assistant.lab.bench.answers import Measured, RunAnswer
from assistant.lab.table import ResultTable
from assistant.stats import Stats


def columns(table: ResultTable) -> list[dict[str, Any]]:
    """Return the rows of a table, by column."""
    return [dict(zip([name for name, _ in table.header], row, strict=True)) for row in table.rows]


def answer(
    question, system, seconds, *, kind="code", tokens=100, reading_s=0.0, **stats
) -> RunAnswer:
    """An answer of so many tokens that took so many seconds, `reading_s` of them for the draft."""
    figures = {"rounds": tokens, "drafted": 0, "draft_s": 0.0, **stats}
    made = Stats(system, generated_tokens=tokens, decode_s=seconds, **figures)
    steps_s = figures["draft_s"] - reading_s
    measured = Measured("text", "length", made, {tokens: seconds}, steps_s)
    return RunAnswer(question, kind, system, measured)
