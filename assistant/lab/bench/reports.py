"""The tables of `bench prompts` and `bench sweep`: how sure figures are, what they depend on."""

import os
import platform
import tomllib
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from assistant.lab.bench.answers import ALL, RunAnswer, kinds, matched, sums, together
from assistant.lab.table import Cell, Interval, ResultTable
from assistant.system import System
from models.engines import PACKAGES
from models.files.checksum import known_sha256
from models.machine import physical_cores, processor

PROMPTS = (
    ("kind", ""), ("system", ""), ("tokens/s", ".1f"), ("× ArS [95 %]", ".2f"), ("worst", ".2f"),
    ("per eval", ".2f"), ("accepted", ".0%"),
)  # fmt: skip
TIMED_TOKENS = 128
"""Tokens whose time is given, as Chen et al. 2023 do."""
SWEEP = (
    ("task", ""), ("K", ""), (f"{TIMED_TOKENS} tokens, s [95 %]", ".2f"), ("yield", ".2f"),
    ("loop, ms", ".1f"), ("draft, ms", ".1f"), ("accepted", ".0%"),
)  # fmt: skip

NOTES = tomllib.loads(Path(__file__).with_name("notes.toml").read_text("utf-8"))
"""The text below each table."""
RESAMPLES = 4000
LEVEL = 0.95


def prompts(answers: Sequence[RunAnswer], systems: Sequence[System]) -> list[ResultTable]:
    """Return each system's speed by kind, and on all questions together; ArS is the first.

    A question counts where both the system and ArS have answered it.
    """
    reference, rows = systems[0].name, list[list[Cell]]()
    for kind in [*kinds(answers), ALL]:
        for name in (system.name for system in systems):
            if both := matched(answers, name, reference, kind).values():
                ratios = [own.speedup(ars) for own, ars in both]
                stats = together(own for own, _ in both).stats
                ratio: list[Cell] = [geometric_mean(ratios), min(ratios)]
                speeds = [stats.tokens_per_s, *(ratio if name != reference else [None, None])]
                rows.append([kind, name, *speeds, stats.tokens_per_eval, stats.acceptance_rate])
    note = NOTES["prompts"]
    if failures := sorted({answer.failure for answer in answers if answer.failure}):
        note += f" Some answers failed: {' '.join(failures)}"
    return [ResultTable("Speed by kind of prompt", PROMPTS, rows, note, bars=2)]


def sweep(answers: Sequence[RunAnswer], systems: Sequence[System]) -> list[ResultTable]:
    """Return what each lookahead comes to, by kind of question; ArS has 0."""
    rows: list[list[Cell]] = []
    for kind in kinds(answers):
        for system in systems:
            if not (totals := [*sums(answers, system.name, kind).values()]):
                continue
            whole, k = together(totals), system.lookahead or 0
            stats, steps_s = whole.stats, whole.steps_s
            loop_s = stats.decode_s - stats.draft_s + steps_s
            seconds = mean([TIMED_TOKENS / own.stats.tokens_per_s for own in totals])
            loop_ms, draft_ms = 1000 * loop_s / stats.rounds, 1000 * steps_s / stats.rounds
            share = stats.tokens_per_eval / (k + 1)
            rows.append([kind, str(k), seconds, share, loop_ms, draft_ms, stats.acceptance_rate])
    return [ResultTable("Time by lookahead", SWEEP, rows, NOTES["sweep"], bars=2)]


def ratio_of_sums(pairs: Sequence[tuple[float, float]]) -> Interval:
    """Return the sum of the items' first figures over that of their second ones.

    The interval is that of items drawn again: the percentile interval of Efron 1979.
    """
    data = np.asarray(pairs, np.float64)
    first, second = data.sum(axis=0)
    if len(data) < 2:
        return Interval(float(first / second))
    rng = np.random.default_rng(0)  # the same figures each time a report is made
    sums = data[rng.integers(len(data), size=(RESAMPLES, len(data)))].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Interval(float(first / second), float(low), float(high))


def mean(values: Sequence[float]) -> Interval:
    """Return the mean of a figure of each item."""
    return ratio_of_sums([(value, 1.0) for value in values])


def geometric_mean(ratios: Sequence[float]) -> Interval:
    """Return the geometric mean of a ratio of each item."""
    logs = mean([log(ratio) for ratio in ratios])
    low, high = (None if bound is None else exp(bound) for bound in (logs.low, logs.high))
    return Interval(exp(logs.value), low, high)


def surroundings(files: Mapping[str, Path]) -> dict[str, Any]:
    """Return this computer, the versions of all that computes, and the files, given by role."""
    uname = platform.uname()
    libraries = ("specchat", *(package.name for package in PACKAGES.values()), "numpy")
    return {
        "machine": {
            "processor": processor(),
            "cores": physical_cores(),  # that this process may use
            "memory": psutil.virtual_memory().total,
            "system": f"{uname.system} {uname.release} {uname.machine}",
        },
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in libraries},
        },
        "files": {
            role: {
                "path": os.fsencode(path).decode("utf-8", "backslashreplace"),
                "size": path.stat().st_size,
                "sha256": known_sha256(path),
            }
            for role, path in files.items()
        },
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
