"""Cutting a text into passages where it is cut best: at headings, functions and paragraphs."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

LEAST, MOST = 500, 1_500
"""Characters of a passage; the last one of a file may be shorter."""
_HEADING = 1_000
_PATH, _HEADING_TEXT = 200, 80  # characters of headings, and of one


class Line(NamedTuple):
    """A line of a text, or a part of a line that is huge."""

    number: int  # from 1; of a PDF the page, of a docx the paragraph
    text: str


class Part(NamedTuple):
    """A passage as it is found in a file."""

    first: int
    last: int
    heading: str  # the headings or the lines of code above it, from the outermost
    text: str


class _Above(NamedTuple):
    """The lines that a line stands under."""

    depth: int
    text: str
    over: "_Above | None"


class _Placed(NamedTuple):
    line: Line
    strength: int  # how well a passage can begin here
    above: _Above | None


def split(lines: Iterable[Line], headed: bool) -> Iterator[Part]:
    """Yield the passages of a text.

    Args:
        lines: its lines.
        headed: whether a line that begins with # is a heading; in code it is a comment.
    """
    held: list[_Placed] = []
    size = 0
    for placed in _placed(_short(lines), headed):
        while held and size + len(placed.line.text) > MOST:
            cut = _best_cut([*held, placed])
            yield from _part(held[:cut])
            held = held[cut:]
            size = sum(len(each.line.text) + 1 for each in held)
        held.append(placed)
        size += len(placed.line.text) + 1
    yield from _part(held)


def _best_cut(held: list[_Placed]) -> int:
    """Return where the next passage begins: the strongest place after `LEAST`, or the last."""
    best, strength, size = len(held) - 1, -1, 0
    for at, placed in enumerate(held):
        if size >= LEAST and placed.strength >= strength:
            best, strength = at, placed.strength
        size += len(placed.line.text) + 1
    return best


def _part(held: list[_Placed]) -> Iterator[Part]:
    while held and not held[-1].line.text.strip():
        held = held[:-1]
    full = next((at for at, each in enumerate(held) if each.line.text.strip()), len(held))
    if held := held[full:]:
        text = "\n".join(each.line.text for each in held)
        yield Part(held[0].line.number, held[-1].line.number, _path(held[0].above), text)


def _path(above: _Above | None) -> str:
    path = ""
    while above and len(path) < _PATH:
        path = f"{above.text} > {path}" if path else above.text
        above = above.over
    return path[:_PATH]


def _placed(lines: Iterable[Line], headed: bool) -> Iterator[_Placed]:
    above: _Above | None = None
    after_blank, fenced = True, False
    for line in lines:
        bare = line.text.strip()
        if not bare:
            yield _Placed(line, 0, above)
            after_blank = True
            continue
        fenced ^= bare.startswith(("```", "~~~"))
        indent = len(line.text) - len(line.text.lstrip())
        level = len(bare) - len(bare.lstrip("#")) if headed and not fenced else 0
        is_heading = 0 < level <= 6 and bare[level:][:1] == " "
        depth = level if is_heading else _HEADING + indent
        while above and above.depth >= depth:
            above = above.over
        yield _Placed(line, 2 * _HEADING - depth if is_heading or after_blank else 0, above)
        above = _Above(depth, bare.strip("# :")[:_HEADING_TEXT], above)
        after_blank = False


def _short(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines, those that are huge in parts."""
    for number, text in lines:
        while len(text) > MOST:
            cut = text.rfind(" ", LEAST, MOST) + 1 or MOST
            yield Line(number, text[:cut])
            text = text[cut:]
        yield Line(number, text)
