"""Answers as a run would have measured them."""

from assistant.lab.bench.events import Measured, TimedRound
from assistant.lab.bench.run_answers import RunAnswer
from assistant.stats import Stats


def answer(
    question, system, seconds, *, kind="code", tokens=100, repeat=0, reading_s=0.0, **stats
) -> RunAnswer:
    """An answer of so many tokens that took so many seconds, `reading_s` of them for the draft."""
    figures = {"rounds": tokens, "drafted": 0, "draft_s": 0.0, **stats}
    count, drafted, draft_s = figures["rounds"], figures["drafted"], figures["draft_s"]
    verify_s = seconds - draft_s
    made = Stats(system, generated_tokens=tokens, decode_s=seconds, verify_s=verify_s, **figures)
    width, step_s = 1 + drafted // count, (draft_s - reading_s) / count
    rounds = (TimedRound(width, round(tokens / count), verify_s / count, step_s),) * count
    return RunAnswer(question, kind, repeat, system, Measured("text", "length", made, rounds))
