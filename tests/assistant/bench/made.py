"""Answers as a run would have measured them."""

from assistant.bench.answers import Answer
from assistant.bench.findings import Measured, Timed
from assistant.stats import Stats


def answer(question, system, seconds, *, kind="code", tokens=100, repeat=0, **stats) -> Answer:
    """An answer of so many tokens that took so many seconds."""
    figures = {"rounds": tokens, **stats}
    made = Stats(system, generated_tokens=tokens, decode_s=seconds, verify_s=seconds, **figures)
    rounds = tuple(Timed(1, 1, seconds / tokens, 0.0) for _ in range(figures["rounds"]))
    return Answer(question, kind, repeat, system, Measured("text", "length", made, rounds))
