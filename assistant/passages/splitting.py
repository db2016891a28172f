"""Split a text at the best places: headings, then functions and paragraphs, then lines."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

MIN_LENGTH, MAX_LENGTH = 500, 1_500
"""Characters of a passage; the last one of a file may be shorter."""
_CODE = 1_000  # the depth of code, below all headings; indentation is added
_HEADING = 80  # characters of a heading that are stored
_RULE = re.compile(r"(?=.*-)[\s:=-]*[|+][\s|+:=-]*")  # the line under the header of a table


class TextLine(NamedTuple):
    """A line of a text, or a part of one that is huge."""

    number: int  # from 1; of a PDF the page, of a notebook the cell
    text: str


class Passage(NamedTuple):
    """Whole paragraphs, a function or a section."""

    first: int  # its first line, from 1, counted as in TextLine
    last: int
    heading: str  # the headings or the lines of code above it, from the outermost
    text: str
    path: Path = Path()  # of its file, where that is known
    note: str = ""  # that another version of it is older or newer
    header: str = ""  # of the table, with a newline, if it begins with a row of one
    names: tuple[str, ...] = ()  # of its document, and the headings above it and in it


class _ScoredLine(NamedTuple):
    line: TextLine
    header: str  # if it is a row of a table
    break_score: int  # how well a passage can begin here
    outline: tuple[tuple[int, str], ...]  # the lines it is under, each with its depth


def split(
    lines: Iterable[TextLine], headed: bool, names: tuple[str, ...] = (), header: str = ""
) -> Iterator[Passage]:
    """Yield the passages of a text; `headed` says that lines with # are headings, not comments.

    `names` are those of the document; a line that is `header` makes all after it rows of a table.
    """
    buffered, size = list[_ScoredLine](), 0
    for scored in _score_lines(_with_headers(lines, header), headed):
        while buffered and size + len(scored.line.text) > MAX_LENGTH - len(buffered[0].header):
            cut, break_score, size = len(buffered), scored.break_score + 1, 0
            for index, earlier in enumerate(buffered):
                if size >= MIN_LENGTH and earlier.break_score >= break_score:
                    cut, break_score = index, earlier.break_score
                size += len(earlier.line.text) + 1
            yield from _part(buffered[:cut], names)
            buffered = buffered[cut:]
            size = sum(len(rest.line.text) + 1 for rest in buffered)
        buffered.append(scored)
        size += len(scored.line.text) + 1
    yield from _part(buffered, names)


def _part(section: list[_ScoredLine], names: tuple[str, ...]) -> Iterator[Passage]:
    full = [index for index, row in enumerate(section) if row.line.text.strip()]
    if full:
        section = section[full[0] : full[-1] + 1]
        above = [text for _, text in section[0].outline]
        titles = [text for depth, text in section[0].outline if depth < _CODE]
        titles += [row.line.text for row in section if row.break_score > _CODE]
        text = "\n".join(row.line.text for row in section)
        own = Passage(section[0].line.number, section[-1].line.number, " > ".join(above), text)
        yield own._replace(header=section[0].header, names=(*names, *titles))


def _score_lines(lines: Iterable[tuple[TextLine, str]], headed: bool) -> Iterator[_ScoredLine]:
    outline, after_blank, fenced = tuple[tuple[int, str], ...](), True, False
    for (number, text), header in lines:
        bare = text.strip()
        fenced ^= bare.startswith(("```", "~~~"))
        level = len(bare) - len(bare.lstrip("#")) if headed and not fenced else 0
        depth = level or _CODE + len(text) - len(text.lstrip())
        if bare:
            outline = tuple(entry for entry in outline if entry[0] < depth)
        break_score = 2 * _CODE - depth if bare and (level or after_blank) else 0
        while len(text) > MAX_LENGTH:
            cut = text.rfind(" ", MIN_LENGTH, MAX_LENGTH) + 1 or MAX_LENGTH
            yield _ScoredLine(TextLine(number, text[:cut]), header, break_score, outline)
            text = text[cut:]
        yield _ScoredLine(TextLine(number, text), header, break_score, outline)
        if bare:
            outline += ((depth, bare.strip("# :")[:_HEADING]),)
        after_blank = not bare


def _with_headers(lines: Iterable[TextLine], header: str) -> Iterator[tuple[TextLine, str]]:
    """Yield lines with the headers of their tables; those of Markdown with the line under them."""
    before = table = first = ""
    for line in lines:
        is_rule, above = bool(_RULE.fullmatch(line.text)), ""
        table = table if is_rule or "|" in line.text else ""
        if is_rule and not table and "|" in before:
            above, table = before, f"{before}\n{line.text}"
        above = first or above or table
        yield line, above[: MAX_LENGTH // 2] + ("\n" if above else "")
        before, first = line.text, first or (header if line.text == header else "")
