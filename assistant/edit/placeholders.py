"""Lines that replace code in a new version, such as "# other methods unchanged"."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from pathlib import Path

from assistant.edit.comparison import pair_lines

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
WORDED = re.compile(r"\w\w|[^\W\d_a-zA-Z]")
MIN_LINES = 3  # of code, which a comment must replace to be a placeholder whatever its words


def left_out(old: Sequence[str], new: Sequence[str]) -> str:
    """Return half a sentence about the old lines that a placeholder replaces; empty if none.

    A comment is a placeholder if it alone replaces several lines of code. Typical words or an
    ellipsis make a line a placeholder also if it replaces one line or is beside changed lines.
    """
    stripped = [*map(str.strip, old)]
    numbers = [i for i, line in enumerate(stripped) if WORDED.search(line)]  # others are everywhere
    worded = [line for line in new if WORDED.search(line) or _kind(line.strip())]
    before, after = [stripped[i] for i in numbers], [*map(str.strip, worded)]
    removed, added = Counter(before) - Counter(after), Counter(worded) - Counter(old)
    comments = _comments(stripped)
    unchanged = ((i, j) for i, j in pair_lines(before, after) if before[i] == after[j])
    for (a, b), (a_end, b_end) in pairwise([(-1, -1), *unchanged, (len(before), len(after))]):
        lost = {numbers[i]: before[i] for i in range(a + 1, a_end) if before[i] in removed}
        fresh = [after[j] for j in range(b + 1, b_end) if worded[j] in added]
        for mark, replaced in _replacing(fresh, lost, comments):
            first, last = replaced[0] + 1, replaced[-1] + 1
            which = f"lines {first} to {last} are" if last > first else f"line {first} is"
            return f"{which} replaced by “{mark[:60]}”"
    return ""


def _replacing(
    fresh: Sequence[str], lost: Mapping[int, str], comments: Set[int]
) -> Iterator[tuple[str, list[int]]]:
    """Yield the fresh lines that replace lost ones, which no code beside them does, and those.

    Fresh code that is akin to lost lines is their new version. Other fresh code may stand for lost
    lines, too: two of them for each line.
    """
    kinds = {line: kind for line in fresh if (kind := _kind(line))}
    code = [line for line in fresh if line not in kinds]
    reworded_comments = _akin(kinds, [lost[i] for i in lost if i in comments])
    new_versions, changed = _akin(code, lost.values()), _akin(lost.values(), code)
    missing = [i for i in lost if lost[i] not in changed]
    other_code = [line for line in code if line not in new_versions]
    for mark, kind in kinds.items():
        replaces = len(missing) > 2 * len(other_code) + (1 if kind == "inline" else 0)
        if kind == "comment":  # other code may be what it describes
            replaces = not other_code and len({*missing} - comments) >= MIN_LINES
        if replaces and mark not in reworded_comments:
            yield mark, missing


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


def _akin(lines: Iterable[str], others: Iterable[str]) -> set[str]:
    """Return the lines that have at least half of their words in common with one of the others."""
    words = {line: {*re.findall(r"\w+", line)} for line in (*lines, *others)}
    known = defaultdict[str, set[str]](set)
    for other in others:
        for word in words[other]:
            known[word].add(other)
    akin = set[str]()
    for line in lines:
        both = Counter(other for word in words[line] for other in known[word])
        if any(3 * n >= len(words[line]) + len(words[other]) for other, n in both.items()):
            akin.add(line)
    return akin


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
