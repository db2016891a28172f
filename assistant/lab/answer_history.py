"""Statistics of stored answers: by pair, by kind, by depth.

ArS is known from the answers in which nothing was proposed: what a token took them, by target and
depth. An answer that was speculated on is compared with those, and not at all where there are none.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import Literal, get_args

from assistant.stats import Stats
from assistant.store.values import StoredAnswer


@dataclass(slots=True)
class Group:
    """The totals of answers; rates are over all their tokens."""

    answers: int = 0
    stats: Stats = field(default_factory=lambda: Stats(""))  # added up
    compared: int = 0  # answers whose time by ArS can be told
    compared_s: float = 0.0  # what these took
    ars_s: float = 0.0  # and what ArS would have taken

    def add(self, stats: Stats) -> None:
        """Take an answer."""
        self.answers += 1
        self.stats = self.stats.plus(stats)

    def compare(self, stats: Stats, ars_token_s: float) -> None:
        """Take what ArS would have needed for an answer."""
        self.compared += 1
        self.compared_s += stats.decode_s
        self.ars_s += stats.generated_tokens * ars_token_s

    @property
    def speedup(self) -> float | None:
        """How much longer ArS would have taken; None when that cannot be told."""
        return self.ars_s / self.compared_s if self.compared_s else None


Kind = Literal["code", "mixed", "list", "prose"]
KINDS = get_args(Kind)
"""The kinds of an answer, tried in this order; empty lines do not count.

Code: at least half of the lines stand between fences (```); mixed: some do; a list: at least half
are items or rows of a table; prose: anything else.
"""
_FENCE = re.compile(r" {0,3}(```|~~~)")
_ITEM = re.compile(r"\s*([-*+•|]|\d+[.)])\s*\S")


def kind_of(text: str) -> Kind:
    """Return what an answer is."""
    lines = fenced = items = 0
    inside = False
    for line in text.splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif line.strip():
            lines += 1
            fenced += inside
            items += not inside and _ITEM.match(line) is not None
    if fenced:
        return "code" if 2 * fenced >= lines else "mixed"
    return "list" if items and 2 * items >= lines else "prose"


DEPTHS = (0, 512, 2048, 8192)
"""Where the classes of depth begin, in tokens of the prompt."""
MIN_ARS_TOKENS = 32
"""Tokens of ArS from which on its speed is known."""
RECENT = 60  # answers, the newest, that are shown one by one
COPYING = "copying alone"


@dataclass(slots=True)
class AnswerHistory:
    """All answers, and the same by what they have in common."""

    whole: Group = field(default_factory=Group)
    pairs: dict[tuple[str, str], Group] = field(default_factory=dict)  # by target and draft
    kinds: dict[Kind, Group] = field(default_factory=dict)
    depths: dict[int, Group] = field(default_factory=dict)  # by where the class begins
    recent: tuple[float, ...] = ()  # tokens per evaluation of the newest answers
    first: float = 0.0  # when the oldest and the newest were given, seconds since 1970
    last: float = 0.0
    left_out: int = 0  # answers whose figures cannot be


def look_back(answers: Iterable[StoredAnswer]) -> AnswerHistory:
    """Add up answers."""
    history, kept = AnswerHistory(), []
    for answer in answers:
        if not is_sound(answer.stats):
            history.left_out += 1
        elif answer.stats.generated_tokens and not answer.stats.beside:  # else their time is shared
            # Without its text: there may be many.
            kept.append((answer.model, kind_of(answer.content), answer.stats))
            history.first = min(history.first or answer.created, answer.created)
            history.last = max(history.last, answer.created)
    ars = _ars(kept)
    for model, kind, stats in kept:
        depth = depth_of(stats)
        groups = (
            history.whole,
            history.pairs.setdefault((model, _draft(stats)), Group()),
            history.kinds.setdefault(kind, Group()),
            history.depths.setdefault(depth, Group()),
        )
        token_s = ars.get((model, depth))
        for group in groups:
            group.add(stats)
            if stats.drafted and token_s is not None:
                group.compare(stats, token_s)
    history.recent = tuple(stats.tokens_per_eval for _, _, stats in kept[-RECENT:])
    return history


def depth_of(stats: Stats) -> int:
    """Return where the class of depth begins that an answer belongs to."""
    return max(depth for depth in DEPTHS if depth <= stats.prompt_tokens)


def spans() -> dict[int, str]:
    """Return the classes of depth, in words."""
    named = {low: f"{low:,} to {high - 1:,}" for low, high in pairwise(DEPTHS)}
    return {**named, DEPTHS[-1]: f"{DEPTHS[-1]:,} and more"}


def is_sound(stats: Stats) -> bool:
    """Say whether figures are possible: imported ones may be anything."""
    counts = (stats.rounds, stats.drafted, stats.tested, stats.accepted, stats.generated_tokens)
    tallies = (*stats.positions, *stats.sources.values())
    return (
        0 <= stats.accepted <= stats.tested <= stats.drafted
        and all(0 <= count < 2**53 for count in (*counts, stats.prompt_tokens))
        and all(0 <= tally.accepted <= tally.tested < 2**53 for tally in tallies)
        and stats.rounds > 0
        and isfinite(stats.decode_s)
        and stats.decode_s > 0
    )


def _ars(kept: Iterable[tuple[str, Kind, Stats]]) -> dict[tuple[str, int], float]:
    """Return the seconds of a token by ArS, by target and depth."""
    tokens: defaultdict[tuple[str, int], int] = defaultdict(int)
    seconds: defaultdict[tuple[str, int], float] = defaultdict(float)
    for model, _, stats in kept:
        if not stats.drafted:
            tokens[model, depth_of(stats)] += stats.generated_tokens
            seconds[model, depth_of(stats)] += stats.decode_s
    return {key: seconds[key] / count for key, count in tokens.items() if count >= MIN_ARS_TOKENS}


def _draft(stats: Stats) -> str:
    """Return the draft model, as far as that is known: earlier versions did not keep its name."""
    return stats.draft or ("a draft" if "model" in stats.sources else COPYING)
