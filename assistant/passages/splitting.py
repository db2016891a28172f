"""Cutting a text where it is cut best: at headings, then functions and paragraphs, then lines."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

LEAST, MOST = 500, 1_500
"""Characters of a passage; the last one of a file may be shorter."""
_CODE = 1_000  # lines stand under headings, and under lines that are less indented
_HEADING = 80  # characters of a heading that are kept


class TextLine(NamedTuple):
    """A line of a text, or a part of one that is huge."""

    number: int  # from 1; of a PDF the page, of a docx the paragraph
    text: str


class Passage(NamedTuple):
    """Whole paragraphs, a function or a section."""

    first: int  # its first line, from 1; of a PDF the page, of a docx the paragraph
    last: int
    heading: str  # the headings or the lines of code above it, from the outermost
    text: str
    path: Path = Path()  # of its file, where that is known
    note: str = ""  # that another version of it is older or newer


class _Placed(NamedTuple):
    line: TextLine
    strength: int  # how well a passage can begin here
    outline: tuple[tuple[int, str], ...]  # what it stands under, and how deep that is


def split(lines: Iterable[TextLine], headed: bool) -> Iterator[Passage]:
    """Yield the passages of a text; `headed` says that lines with # are headings, not comments."""
    held, size = list[_Placed](), 0
    for placed in _placed(lines, headed):
        while held and size + len(placed.line.text) > MOST:
            cut, strength, size = len(held), placed.strength + 1, 0
            for at, each in enumerate(held):
                if size >= LEAST and each.strength >= strength:
                    cut, strength = at, each.strength
                size += len(each.line.text) + 1
            yield from _part(held[:cut])
            held = held[cut:]
            size = sum(len(each.line.text) + 1 for each in held)
        held.append(placed)
        size += len(placed.line.text) + 1
    yield from _part(held)


def _part(held: list[_Placed]) -> Iterator[Passage]:
    full = [at for at, each in enumerate(held) if each.line.text.strip()]
    if full:
        held = held[full[0] : full[-1] + 1]
        heading = " > ".join(text for _, text in held[0].outline)
        text = "\n".join(each.line.text for each in held)
        yield Passage(held[0].line.number, held[-1].line.number, heading, text)


def _placed(lines: Iterable[TextLine], headed: bool) -> Iterator[_Placed]:
    outline, after_blank, fenced = tuple[tuple[int, str], ...](), True, False
    for number, text in lines:
        bare = text.strip()
        fenced ^= bare.startswith(("```", "~~~"))
        level = len(bare) - len(bare.lstrip("#")) if headed and not fenced else 0
        depth = level or _CODE + len(text) - len(text.lstrip())
        if bare:
            outline = tuple(each for each in outline if each[0] < depth)
        strength = 2 * _CODE - depth if bare and (level or after_blank) else 0
        while len(text) > MOST:
            cut = text.rfind(" ", LEAST, MOST) + 1 or MOST
            yield _Placed(TextLine(number, text[:cut]), strength, outline)
            text = text[cut:]
        yield _Placed(TextLine(number, text), strength, outline)
        if bare:
            outline += ((depth, bare.strip("# :")[:_HEADING]),)
        after_blank = not bare
