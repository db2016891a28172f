"""Lines that replace code in a new version, such as "# other methods unchanged"."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

# Signs of comments that need a blank after them; without one, they may begin code.
SPACED = r"(?:\#+|--+|;+|%+|'|::|!|\.\.|(?i:rem|dnl)\b)(?=\s)"
SIGN = rf"(?:{SPACED}|//+!?|/\*+|<!--|\{{/\*|\{{\{{!|\{{\#|\(\*|\{{-|\#\||<%(?:\#|--)|<\#)"
COMMENT = re.compile(rf"{SIGN}.*|(\"{{3}}|'{{3}}).*\1|\[\w[\w,.:'-]*( [\w,.:'()-]+)+\]")
BRACKETED = re.compile(r"\W*[\[(<{~*_=-]\s*[\w.…].*[\])>}~*_=-]\W*")
TRAILING = re.compile(rf"\S\s*(?:{SIGN}|<(?=[\w ]+>))(.*)")
DOTS = r"(?:\.{3}|…)(?![\w,(\[{$@])"
ELLIPSIS = re.compile(rf"\W*{DOTS}(?: \(.*\))?\W*|(?:{SIGN}|\"{{3}}|'{{3}}|\[).*(?:\.{{3}}|…).*")
INLINE = re.compile(rf"(?<!catch )(?:[({{\[>;:*/]\s*|\w\s+(?={DOTS}\s*[;<}})\]])){DOTS}")
WORDS = re.compile(Path(__file__).with_name("left_out.txt").read_text("utf-8"))
"""Words by which models describe lines that they leave out, in several languages."""
DELETION = re.compile(  # words of a comment that explains a deletion
    r"""(?ix)\b(?:remov|delet|dropp?|moved|gone|replaced|deprecated|obsolete|no\ longer|todo|fixme
    |nothing|use\b|see\b|entfernt|gelöscht|eliminad|supprim|удал)|删除|移除|削除"""
)
MIN_LINES = 3  # of code, which a comment must replace to be a placeholder whatever its words


def left_out(old: Sequence[str], new: Sequence[str]) -> str:
    """Return half a sentence about the old lines that a placeholder replaces; empty if none.

    A comment is a placeholder if it alone replaces several lines of code. Typical words or an
    ellipsis make a line a placeholder also if it replaces one line or is beside changed lines.
    """
    versions = Versions(old, new)
    known, written = Counter(old), Counter(new)
    for index, line in enumerate(versions.new):
        kind = _kind(line) if written[new[index]] > known[new[index]] else ""
        if kind and (lost := versions.replaced(index, kind)):
            first, last = lost[0] + 1, lost[-1] + 1
            lines = f"lines {first} to {last} are" if last > first else f"line {first} is"
            return f"{lines} replaced by “{line[:60]}”"
    return ""


def _kind(line: str) -> str:
    """Return the kind of a line: "placeholder", "inline", "comment", or "" for any other."""
    is_comment, words = COMMENT.fullmatch(line), WORDS.findall(line)
    is_prose = len(words) > 1 and not re.search(r"[={}\[\];\"]", line)
    if is_prose or ELLIPSIS.fullmatch(line):
        return "placeholder"
    if words and (is_comment or BRACKETED.fullmatch(line)):
        return "placeholder"
    trailing = TRAILING.search(line)
    if INLINE.search(line) or (trailing and WORDS.search(trailing[1])):
        return "inline"
    return "comment" if is_comment and len(line) <= 80 and not DELETION.search(line) else ""


class Versions:
    """The lines of two versions without their indentation."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self.old, self.new = ([line.strip() for line in lines] for lines in (old, new))
        before, after = Counter(self.old), Counter(self.new)
        self._lost = before - after
        self._once = {line for line, count in before.items() if count == after[line] == 1}
        self._words = {line: {*re.findall(r"\w+", line)} for line in before | after}
        self._comments = _comments(self.old)
        self._anchors = [*self._in_both()]

    def replaced(self, index: int, kind: str) -> list[int]:
        """Return the indices of the old lines that a new line of a kind replaces."""
        before, after = (-1, -1), (len(self.old), len(self.new))
        i, j = next((pair for pair in reversed(self._anchors) if pair[1] < index), before)
        i_end, j_end = next((pair for pair in self._anchors if pair[1] > index), after)
        limit = 0 if kind == "comment" else (i_end - i) // 2
        i, fresh = self._nearest(range(i + 1, i_end), range(index - 1, j, -1), limit, i)
        below = range(i_end - 1, i, -1)
        i_end, more = self._nearest(below, range(index + 1, j_end), limit, i_end)
        fresh += more
        if kind == "comment" and fresh:
            return []  # there is new code that it may describe
        between = range(i + 1, i_end)
        lost = [k for k in between if _has_words(self.old[k]) and self.old[k] in self._lost]
        comments = [k for k in lost if k in self._comments]
        if any(self._are_similar(self.new[index], self.old[k]) for k in comments):
            return []  # it is a reworded comment
        if kind == "comment":
            return lost if len(lost) - len(comments) >= MIN_LINES else []
        return lost if len(lost) > 2 * fresh + (kind == "inline") else []

    def _in_both(self) -> Iterator[tuple[int, int]]:
        """Yield in order the indices of lines that both versions have exactly once."""
        a, b = (
            [i for i, line in enumerate(lines) if line in self._once and _has_words(line)]
            for lines in (self.old, self.new)
        )
        common = ([self.old[i] for i in a], [self.new[j] for j in b])
        for block in SequenceMatcher(None, *common, autojunk=False).get_matching_blocks():
            yield from zip(a[block.a :][: block.size], b[block.b :][: block.size], strict=True)

    def _nearest(self, old: range, new: range, limit: int, otherwise: int) -> tuple[int, int]:
        """Return the first old line that is similar to the nearest new one, and how many before it
        are similar to none; `otherwise` if there are more than `limit`.
        """
        fresh = 0
        for line in (self.new[j] for j in new if _has_words(self.new[j])):
            akin = next((i for i in old if self._are_similar(line, self.old[i])), None)
            fresh += akin is None and not _kind(line)
            if akin is not None or fresh > limit:
                return otherwise if akin is None else akin, fresh
        return otherwise, fresh

    def _are_similar(self, line: str, other: str) -> bool:
        """Return whether two lines have at least half of their words in common."""
        one, two = self._words[line], self._words[other]
        both = len(one & two)
        return both > 0 and 3 * both >= len(one) + len(two)


def _has_words(line: str) -> bool:
    return re.search(r"\w\w|[^\W\d_a-zA-Z]", line) is not None


def _comments(lines: Sequence[str]) -> set[int]:
    """Return the indices of lines in comments, and in docstrings."""
    inside, end, is_comment = set[int](), "", False
    for i, line in enumerate(lines):
        opened = None if end else re.match(r"(/\*)|(<!--)|.*?(\"{3}|'{3})", line)
        if opened:
            end = {1: "*/", 2: "-->"}.get(opened.lastindex or 0, opened[3])
            is_comment = not opened[3] or line[:3] == opened[3]  # else it is data
        if (end and is_comment) or COMMENT.fullmatch(line):
            inside.add(i)
        if end in line[opened.end() if opened else 0 :]:
            end = ""
    return inside
