"""Fit an answer into the file: without repeated surroundings, indented as the file is.

An answer that has the file's own indentation is taken as it is. For any other, the steps and the
shift are chosen that bring most lines into the columns where they are expected. After that a line
that did not change is the old one, byte for byte.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from assistant.edit.comparison import pair_lines
from assistant.edit.part import OPENS, Part

STEPS = (4, 2, 8, 3)  # usual widths of an indentation; the first one is also the width of a tab
BLANKS = " \t"
CLOSER = re.compile(r"[)}\];,`]+|end")
LABEL = re.compile(r"\s*(?:case|default|when)\b")  # may follow a head, no deeper than it
COPIED = 3  # the most lines of the rest of the file that a new part may have without repeating it


def without_surroundings(lines: Sequence[str], part: Part, new: Sequence[str]) -> list[str]:
    """Return the new lines of a part without those at both ends that repeat its surroundings."""
    filled = [i for i, line in enumerate(new) if line.strip()]
    texts, old, below = _texts(new), _texts(lines[slice(*part)]), _texts(lines[part.end :])
    start = _repeated_above(lines, part, texts)
    sizes = range(min(len(below), len(texts) - start - 1), 0, -1)
    equal = (k for k in sizes if texts[-k:] == below[:k] and texts[-k:] != old[-k:])
    end = len(texts) - next((k for k in equal if not all(map(CLOSER.fullmatch, below[:k]))), 0)
    is_more = bool(texts) and texts.count(texts[-1]) > old.count(texts[-1])
    is_closed = start or (is_more and _balance(texts) < _balance(old))
    while is_closed and end - start > 1 and CLOSER.fullmatch(texts[end - 1]):
        if _width(new[filled[end - 1]]) >= _width(new[filled[start]]):
            break
        end -= 1
    return list(new[filled[start] : filled[end - 1] + 1]) if start < end else []


def _repeated_above(lines: Sequence[str], part: Part, texts: Sequence[str]) -> int:
    """Return how many of the first lines repeat, in order, lines above a part."""
    above, heads = _texts(lines[: part.start]), [lines[i].strip() for i in _heads(lines, part)]
    old, at, count = _texts(lines[slice(*part)]), 0, 0
    for text in texts:
        if text not in above[at:] or text in old[:1]:
            break
        at, count = above.index(text, at) + 1, count + 1
    is_beside = at == len(above) and (count > 1 or len(texts) > len(old))
    is_head = count and texts[0] in [*heads, above[0]]
    return count if count < len(texts) and (is_beside or is_head) else 0


def repeated_words(lines: Sequence[str], part: Part, new: Sequence[str]) -> str:
    """Return half a sentence about other lines of the file that a new part repeats; or ""."""
    counts, copies = Counter(_texts(lines)), {*_texts(new)} - {*_texts(lines[slice(*part)])}
    copied = [i for i, line in enumerate(lines) if line.strip() in copies]
    copied = [i for i in copied if counts[lines[i].strip()] == 1 and re.search(r"\w\w", lines[i])]
    if len(copied) > COPIED or {*copied} & {*_heads(lines, part)}:
        text = lines[copied[0]].strip()[:60]
        return f"it repeats line {copied[0] + 1}, “{text}”, which was not to be rewritten"
    return ""


def indent(lines: Sequence[str], part: Part, new: Sequence[str]) -> list[str]:
    """Return the new lines of a part with the indentation of the file.

    The part starts in the column of the old one, and an unchanged line stays the same byte for
    byte. If a whole file differs in blanks alone, it gets the new blanks.
    """
    old = lines[slice(*part)]
    is_whole = not _texts([*lines[: part.start], *lines[part.end :]])
    # Where tabs separate columns, an answer may have blanks instead: its lines are still the same.
    has_columns = any("\t" in line.strip() for line in lines)
    normalised = (lambda line: " ".join(line.split())) if has_columns else str.strip
    old_texts, new_texts = ([*map(normalised, text)] for text in (old, new))
    if not any(new_texts) or (is_whole and old_texts == new_texts):
        return list(new)
    pairs = [*pair_lines(old_texts, new_texts)]
    unchanged = [(i, j) for i, j in pairs if old_texts[i] == new_texts[j]]
    unshifted = [(i, j) for i, j in pairs if _blanks(old[i]) == _blanks(new[j])]
    uses_tabs = sum(line[:1] == "\t" for line in lines) > sum(line[:1] == " " for line in lines)
    step = STEPS[0] if uses_tabs else _step(lines)
    old_columns = [_width(line, step) for line in old]
    expected = {j: old_columns[i] for i, j in (*unshifted, *unchanged)}

    def count_expected(columns: Sequence[int]) -> int:
        """Return how many lines stand where they are expected, or else whole steps further."""
        goals = (expected.get(j, n - (n - columns[0]) % step) for j, n in enumerate(columns))
        filled = zip(columns, goals, new_texts, strict=True)
        return sum(column == goal for column, goal, text in filled if text)

    copied = [(old[i], new[j]) for i, j in unchanged if old[i].strip()]
    indentations = {*map(_blanks, lines)}
    begins_alike = new[0] in old or _blanks(new[0]) == _blanks(old[0])
    is_exact = begins_alike and (_are_mostly_exact(copied) or indentations == {""})
    columns = [_width(line, step) for line in new]
    if not is_exact:
        candidates = _candidates(new, None if is_whole else old_columns[0], step)
        columns = max(candidates, key=count_expected)
    result = list[str]()
    for column, line in zip(columns, _rows(lines, new), strict=True):
        if not (is_exact and _blanks(line) in indentations):
            tabs = column // step if uses_tabs else 0
            line = "\t" * tabs + " " * (column - tabs * step) + line.lstrip(BLANKS)
        result.append(line)
    for i, j in unshifted:
        if old_columns[i] == columns[j]:
            result[j] = _blanks(old[i]) + result[j].lstrip(BLANKS)
    tolerance = 1 if is_exact else step
    for i, j in unchanged:
        if not new_texts[j] or abs(old_columns[i] - columns[j]) < tolerance:
            result[j] = old[i]
    return result


def _are_mostly_exact(copied: Sequence[tuple[str, str]]) -> bool:
    """Return whether most of the indented lines that an answer copies have the file's blanks."""
    indented = [(old, new) for old, new in copied if old[0] in BLANKS or new[0] in BLANKS]
    n_exact = sum(_blanks(old) == _blanks(new) for old, new in indented)
    return n_exact > len(indented) / 2


def _candidates(new: Sequence[str], base: int | None, step: int) -> Iterator[list[int]]:
    """Yield candidates for the columns of new lines, the likeliest first.

    The answer may be indented by other steps than the file's `step`. Of a part that starts at a
    `base` column, all lines or the first one alone may have lost their indentation.
    """
    filled = [line for line in new if line.strip()]
    margin = 0 if base is None else min(map(_width, filled))
    own, inner = _step(filled), [n for n in map(_width, filled) if n > margin]
    is_even = own in STEPS[:2] and not any((n - margin) % own for n in inner)
    sizes = (size for size in STEPS if size <= min(inner, default=0) - margin)
    for of in (own if is_even else step, step, *sizes):
        starts = [n // of * step + n % of for n in (_width(line, of) - margin for line in new)]
        if base is None:
            yield starts
            continue
        shifts = [base - starts[0]]
        if (rest := [_width(line, of) for line in filled[1:]]) and min(rest) >= base:
            has_block = OPENS.search(filled[0].rstrip())
            if not has_block or rest[0] > base or LABEL.match(filled[1]):
                is_first_alone = min(rest) > margin + (step if has_block else 0)
                shifts.insert(0 if is_first_alone else 1, margin)
        for shift in shifts:
            yield [base, *(max(0, n + shift) for n in starts[1:])]


def _rows(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return new lines with tabs between columns, if they are rows of a table that has those."""
    tabs, count = Counter(line.strip().count("\t") for line in old).most_common(1)[0]
    is_table = tabs and 3 * count >= 2 * len(old)
    return [_row(line, tabs) if is_table else line for line in new]


def _row(line: str, tabs: int) -> str:
    text = line.strip()
    ways = () if "\t" in text else (re.split(" {2,}", text), text.split(" "))
    return next((_blanks(line) + "\t".join(way) for way in ways if len(way) == tabs + 1), line)


def _heads(lines: Sequence[str], part: Part) -> list[int]:
    """Return the indices of the heads of the blocks around a part, from the inside out."""
    heads, width = list[int](), _width(lines[part.start])
    for i in range(part.start - 1, -1, -1):
        text = lines[i].strip()
        if text and _width(lines[i]) < width and not CLOSER.fullmatch(text):
            heads.append(i)
            width = _width(lines[i])
    return heads


def _step(lines: Sequence[str]) -> int:
    """Return the most frequent increase of the indentation from one line to the next."""
    widths = [_width(line) for line in lines if line.strip()]
    further = Counter(b - a for a, b in pairwise(widths) if b > a)
    return further.most_common(1)[0][0] if further else STEPS[0]


def _blanks(line: str) -> str:
    return line[: len(line) - len(line.lstrip(BLANKS))]


def _width(line: str, tab: int = STEPS[0]) -> int:
    return len(_blanks(line).expandtabs(tab))


def _balance(texts: Sequence[str]) -> int:
    """Return how many more brackets are opened than closed."""
    text = "".join(texts)
    return sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))


def _texts(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]
