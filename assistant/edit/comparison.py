"""Two versions of a text, compared line by line, also while the new one is being written."""

import os
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from pathlib import Path
from typing import Literal, NamedTuple

CONTEXT = 3  # unchanged lines that are shown around a change
Sign = Literal[" ", "+", "-"]


class Line(NamedTuple):
    """A line of a hunk."""

    sign: Sign
    text: str


class Hunk(NamedTuple):
    """Changes that are near each other, with the unchanged lines around them."""

    start: int  # the number of its first old line, from 1
    lines: tuple[Line, ...]
    is_settled: bool  # whether enough unchanged lines follow: a later change is in another hunk


def compare(old: Sequence[str], new: Sequence[str], is_whole: bool = True) -> list[Hunk]:
    """Return the changes. If the new version is not yet whole, nothing is removed at its end."""
    above = _same(old, new)
    below = _same(old[above:][::-1], new[above:][::-1]) if is_whole else 0
    head, tail = range(min(above, CONTEXT)), range(-min(below, CONTEXT), 0)
    # The matcher takes quadratic time, so equal lines at both ends are left out, up to CONTEXT.
    before, after = ([*head, *lines[above : len(lines) - below], *tail] for lines in (old, new))
    matcher = SequenceMatcher[str | int](None, before, after, autojunk=False)
    reached = len(before)
    if not is_whole:  # the rest may still come
        *_, (start, _, size), _end = [(0, 0, 0), *matcher.get_matching_blocks()]
        reached = start + size
        matcher.set_seq1(before[:reached])
    skipped = above - len(head)
    old, new = old[skipped:], new[skipped:]
    hunks = list[Hunk]()
    for group in matcher.get_grouped_opcodes(CONTEXT):
        lines = list[Line]()
        for tag, a, a_end, b, b_end in group:
            lines += [Line(" " if tag == "equal" else "-", line) for line in old[a:a_end]]
            lines += [Line("+", line) for line in new[b:b_end] if tag != "equal"]
        tag, start, end, *_ = group[-1]
        # The context after the last group is cut to `CONTEXT`, whatever follows it.
        is_settled = tag == "equal" and end - start == CONTEXT and end + CONTEXT < reached
        hunks.append(Hunk(skipped + group[0][1] + 1, tuple(lines), is_whole or is_settled))
    return hunks


def opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield how to turn one version into another, as `SequenceMatcher` does, all lines in order."""
    above = _same(old, new)
    below = _same(old[above:][::-1], new[above:][::-1])
    middles = old[above : len(old) - below], new[above : len(new) - below]
    yield "equal", 0, above, 0, above
    for tag, a, a_end, b, b_end in SequenceMatcher(None, *middles, autojunk=False).get_opcodes():
        yield tag, above + a, above + a_end, above + b, above + b_end
    yield "equal", len(old) - below, len(old), len(new) - below, len(new)


def pair_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the indices, in both versions, of lines that are the same or that changed in place."""
    for _, a, a_end, b, b_end in opcodes(old, new):
        yield from zip(range(a, a_end), range(b, b_end), strict=False)


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines are equal from the start on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def patch(path: Path, old: bytes, new: bytes) -> bytes:
    """Return the change of a file as a patch for `git apply` and `patch -p1`; empty if none."""
    real = os.path.realpath(path)  # neither program follows a link
    relative = os.path.relpath(real)
    named = os.fsencode(real[1:] if relative.startswith("../") else relative).decode("latin-1")
    texts = (data.decode("latin-1") for data in (old, new))
    before, after = (re.findall(r"[^\n]*\n|[^\n]+$", text) for text in texts)  # with their ends
    lines = unified_diff(before, after, _quote(f"a/{named}"), _quote(f"b/{named}"))
    ended = (
        line if line[-1] == "\n" else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return "".join(ended).encode("latin-1")


def _quote(name: str) -> str:
    """Return a name as git spells it."""
    spelt = re.sub(r'[\0-\x1f"\\\x7f]', lambda match: f"\\{ord(match[0]):03o}", name)
    return f'"{spelt}"' if spelt != name or " " in name else name
