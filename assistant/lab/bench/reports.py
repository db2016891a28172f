"""The tables of `bench prompts` and `bench sweep`."""

from collections.abc import Sequence

from assistant.lab.bench.answers import ALL, RunAnswer, kinds, matched, sums, together
from assistant.lab.bench.intervals import geometric_mean, mean
from assistant.lab.table import Cell, ResultTable
from assistant.system import System

PROMPTS = (
    ("kind", ""),
    ("system", ""),
    ("tokens/s", ".1f"),
    ("× ArS [95 %]", ".2f"),
    ("worst", ".2f"),
    ("per eval", ".2f"),
    ("accepted", ".0%"),
)
PROMPTS_NOTE = (
    "The systems advance together, a few tokens each in turn, so that changes in the machine's "
    "speed cancel out. × ArS compares the time up to the last token that both answers have, from "
    "the end of the prompt's reading on: the geometric mean over the prompts of a kind, with its "
    "95 % bootstrap interval. Worst is the smallest ratio of a prompt, per eval is tokens per "
    "evaluation of the target."
)
TIMED_TOKENS = 128
"""Tokens whose time is given, as Chen et al. 2023 do."""
SWEEP = (
    ("task", ""),
    ("K", ""),
    (f"{TIMED_TOKENS} tokens, s [95 %]", ".2f"),
    ("yield", ".2f"),
    ("loop, ms", ".1f"),
    ("draft, ms", ".1f"),
    ("accepted", ".0%"),
)
SWEEP_NOTE = (
    "K = 0 is ArS. Time: the mean over the answers, with its 95 % bootstrap interval. Yield: "
    "tokens of a round over K + 1. Loop: one round; draft: of it, in the draft. The draft's "
    "reading of the prompt is in the first column alone. Chen et al. 2023, figure 1."
)


def prompts(answers: Sequence[RunAnswer], systems: Sequence[System]) -> list[ResultTable]:
    """Return each system's speed by kind, and on all questions together; ArS is the first.

    A question counts where both the system and ArS have answered it.
    """
    reference, rows = systems[0].name, list[list[Cell]]()
    for kind in [*kinds(answers), ALL]:
        for name in (system.name for system in systems):
            if both := matched(answers, name, reference, kind).values():
                ratios = [each.speedup(ars) for each, ars in both]
                stats = together(each for each, _ in both).stats
                ratio: list[Cell] = [geometric_mean(ratios), min(ratios)]
                speeds = [stats.tokens_per_s, *(ratio if name != reference else [None, None])]
                rows.append([kind, name, *speeds, stats.tokens_per_eval, stats.acceptance_rate])
    note = PROMPTS_NOTE
    if failures := sorted({answer.failure for answer in answers if answer.failure}):
        note += f" Some answers failed: {' '.join(failures)}"
    return [ResultTable("Speed by kind of prompt", PROMPTS, rows, note, bars=2)]


def sweep(answers: Sequence[RunAnswer], systems: Sequence[System]) -> list[ResultTable]:
    """Return what each lookahead comes to, by kind of question; ArS has 0."""
    rows: list[list[Cell]] = []
    for kind in kinds(answers):
        for system in systems:
            if not (each := [*sums(answers, system.name, kind).values()]):
                continue
            whole, k = together(each), system.lookahead or 0
            stats, steps_s = whole.stats, whole.steps_s
            loop_s = stats.decode_s - stats.draft_s + steps_s
            rows.append(
                [
                    kind,
                    str(k),
                    mean([TIMED_TOKENS / own.stats.tokens_per_s for own in each]),
                    stats.tokens_per_eval / (k + 1),
                    1000 * loop_s / stats.rounds,
                    1000 * steps_s / stats.rounds,
                    stats.acceptance_rate,
                ]
            )
    return [ResultTable("Time by lookahead", SWEEP, rows, SWEEP_NOTE, bars=2)]
