"""Old lines that a new version leaves out while it is written, to be put back at once."""

import re
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from msgspec import structs

from assistant.edit.review import ADDS, lines_left_out, review
from assistant.edit.rewrite import Rewrite
from assistant.events import Finished, Token
from assistant.request import Request
from assistant.stats import Stats

ABOVE = ("@", "#", "//", "/*", "*")  # begin lines right above a definition that belong to it
PARSES = {"parses"}  # the word for a text that does not parse: an incomplete one seldom does


class Restored(NamedTuple):
    """The new version so far with old lines put back, from which a rewrite continues."""

    lines: list[str]
    first: int  # old line that was put back, from 1
    last: int
    lost: AbstractSet[str]  # the words of the review's sentences about their loss


def restore(
    rewrite: Rewrite, new: Sequence[str], tried: AbstractSet[str], is_whole: bool = False
) -> Restored | None:
    """Return where to continue, if the last new line follows old ones that must not be lost.

    A review of the new lines, with the rest of the old ones, finds losses that the request does not
    name. A line that occurs once in the old text shows how far the new one has come, unless it is
    whole. `tried` are the words of earlier losses, whose lines are not put back twice.
    """
    old = rewrite.file.lines
    count = Counter(old)
    positions = {line: i for i, line in enumerate(old) if count[line] == 1 and line.strip()}
    end = len(new) if is_whole else len(new) - 1
    start = next((i + 1 for i in reversed(range(end)) if new[i] in positions), 0)
    # The old lines between the last two of the new ones that stand once in the old text.
    first = positions[new[start - 1]] + 1 if start else 0
    last = len(old) if is_whole else positions.get(new[-1], 0)
    if first >= last:
        return None
    lost = _missing(rewrite, [*new[:end], *old[last:]]) - tried
    lost -= _missing(rewrite, [*new[:start], *old[first:]])
    if lost <= PARSES:
        return None
    texts = "\n".join(old), "\n".join([*new[:end], *old[last:]])
    runs = lines_left_out(rewrite.file.path.suffix.lower(), *texts, rewrite.wish)
    latest = min((run[0] - 1 for run in runs if first < run[0] <= last), default=last)
    for line in reversed(range(first, last)):  # the fewest lines that bring back what is lost
        is_start = line <= latest and old[line].strip()
        if is_start and not _missing(rewrite, [*new[:end], *old[line:]]) & (lost | PARSES):
            line = _with_lines_above(old, line, first, end > 0 and bool(new[end - 1].strip()))
            return Restored([*new[:end], *old[line:last]], line + 1, last, lost)
    return Restored([*new[:start], *old[first:last]], first + 1, last, lost)


class PartialRewrite:
    """The answer that rewrites a part; of a whole file, it goes on after what it left out."""

    def __init__(self, rewrite: Rewrite, request: Request) -> None:
        self.request = request
        """The request for the rest of the answer."""
        self.finished: Finished
        """The end of the answer so far, with the text and the figures of all requests: by `end`."""
        self.lines: list[str] = []
        """The lines that are complete."""
        self._rewrite, self._begun, self._prefix = rewrite, "", ""
        self._loss: Restored | None = None
        self._stats: Stats | None = None
        self._tried: AbstractSet[str] = frozenset()

    def add(self, tokens: Sequence[Token]) -> bool:
        """Add the tokens of a round; return whether to stop it, as it has left lines out."""
        *complete, self._begun = (self._begun + "".join(t.text for t in tokens)).split("\n")
        for line in complete:
            self.lines.append(line)
            if self._rewrite.is_whole and self._loss is None:
                self._loss = restore(self._rewrite, self.lines, self._tried)
        return self._loss is not None

    def end(self, finished: Finished) -> Restored | None:
        """End the answer; return the lines that it left out, after which `request` goes on."""
        rewrite, text = self._rewrite, self._prefix + finished.text
        self._stats = self._stats.plus(finished.stats) if self._stats else finished.stats
        self.finished = structs.replace(finished, text=text, stats=self._stats)
        loss, self._loss = self._loss, None
        if loss is None and rewrite.is_whole and not rewrite.gap(text, finished.stop):
            loss = restore(rewrite, rewrite.answer_lines(text), self._tried, is_whole=True)
        if loss is not None:
            *earlier, start = self.request.messages
            self.lines, self._begun, self._tried = loss.lines, "", self._tried | loss.lost
            before, self._prefix = self._prefix, "".join(f"{line}\n" for line in loss.lines)
            start = replace(start, content=start.content.removesuffix(before) + self._prefix)
            self.request = replace(self.request, messages=(*earlier, start))
        return loss


def _with_lines_above(lines: Sequence[str], line: int, first: int, blanks: bool) -> int:
    """Return where the comments and decorators above a line begin, or the blank lines above."""
    while line > first and lines[line - 1].lstrip().startswith(ABOVE):
        line -= 1
    while blanks and line > first and not lines[line - 1].strip():
        line -= 1
    return line


def _missing(rewrite: Rewrite, lines: Sequence[str]) -> set[str]:
    """Return the words of the review of a version, without line numbers, which change.

    Uses of a name that the request names are not missed: they may change in the lines that follow.
    """
    file, wish, words = rewrite.file, rewrite.wish, set[str]()
    named = () if ADDS.match(wish) else re.findall(r"\w+", wish)
    for problem in review(file.path.suffix, file.text, "\n".join(lines), wish):
        if problem.startswith("It no longer parses"):
            words |= PARSES
        elif problem.partition(" is used in ")[0] not in named:
            words |= {*re.findall(r"[^\W\d]\w*", problem)}
    return words
