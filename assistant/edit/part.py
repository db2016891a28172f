"""The part of a file to be rewritten: all of it, some lines, or a named definition."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from models.errors import UsageError

KEYWORDS = (
    "def|class|func|fun|fn|function|struct|enum|trait|interface|impl|mod|module|type|record|object|"
    "sub|proc|macro|namespace|protocol|extension|const|let|var|val"
)
NO_HEAD = re.compile(r"\s*(?:#\s|//|\*|--|}|(?:return|if|while|for|else|await)\b)")
LINES = re.compile(r"(\d+)(?:-(\d+))?")
OPENS = re.compile(r"[:{(\[,]$|=>$|\b(?:do|then|begin)$")
CLOSES = re.compile(r"[)}\]`]|end\b")
CONTINUES = re.compile(r"\{|where$|(?:rescue|ensure)\b(?! *[=(.])")
DECORATES = ("@", "#[")
QUOTES = re.compile("\"{3}(?!')|'{3}(?!\")")


class Part(NamedTuple):
    """Lines of a file, counted from 0, without `end`."""

    start: int
    end: int


def split(argument: str) -> tuple[Path, str]:
    """Return the file that an argument names, and the part of it; empty for all of it."""
    name, _, part = argument.rpartition(":")
    is_part = name and not os.path.exists(argument)  # a Path may be unable to tell
    return (Path(name), part) if is_part else (Path(argument), "")


def find(lines: Sequence[str], named: str, path: Path) -> Part:
    """Return the part of a file that `10-40`, `name` or `Outer.name` names; empty is all of it.

    Blank lines at its ends do not belong to it. UsageError if there is none, or more than one.
    """
    numbers = LINES.fullmatch(named or f"1-{len(lines)}")
    if numbers:
        # `int` refuses thousands of digits, and 18 are past the end of any file.
        first, last = (int(n[:18]) for n in (numbers[1], numbers[2] or numbers[1]))
        if named and not 1 <= first <= last <= len(lines):
            raise UsageError(f"{path} has lines 1 to {len(lines)}; there is no {named}.")
        span = range(first - 1, last)
        filled = [i for i in span if lines[i].strip()] or span
        return Part(filled[0], filled[-1] + 1)
    parts = [Part(0, len(lines))]
    for name in named.split("."):
        parts = [part for outer in parts for part in _find_by_name(lines, outer, name)]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        raise UsageError(f"{path} defines no {named}. Name its lines: {path}:10-40.")
    starts = ", ".join(str(part.start + 1) for part in parts)
    raise UsageError(f"{path} defines {named} in lines {starts}. Name one by lines: {path}:10-40.")


def _find_by_name(lines: Sequence[str], outer: Part, name: str) -> list[Part]:
    """Return the definitions of a name: after a keyword, or else lines that look like a head."""
    word = rf"{re.escape(name)}(?!\w|::)"
    between = r"(?:\s*\([^)]*\)|<.*?>)?\s*(?:[*&]|self\.)?\s*"  # a receiver, or types
    by_keyword = re.compile(rf"\b(?:{KEYWORDS})\b{between}{word}")
    by_looks = re.compile(rf"^[^=.(]*(?<![\w.]){word}(?:<.*>)?\s*[(:=]")
    for head, ends in (by_keyword, ""), (by_looks, ""), (by_keyword, ";"):
        heads = [i for i in range(*outer) if head.search(lines[i]) and not NO_HEAD.match(lines[i])]
        if starts := [i for i in heads if ends or lines[i][-1:] != ";"]:
            return [_block(lines, start, outer.end) for start in starts]
    return []


def _block(lines: Sequence[str], head: int, end: int) -> Part:
    """Return the lines of the block below a head: the deeper ones, and those that close it.

    Between braces and within triple quotes, lines may have any indentation.
    """
    indent, last, depth = _indent(lines[head]), head, int(lines[head].rstrip().endswith("{"))
    quoted = _opens_text(lines[head])
    for i in range(head + 1, end):
        line, within, quoted = lines[i].strip(), quoted, quoted ^ _opens_text(lines[i])
        is_further = within or _indent(lines[i]) > indent
        if not (line or within) or (line.startswith("#") and not is_further):
            continue
        if not is_further:
            closes = CLOSES.match(line) and _indent(lines[i]) == indent
            if not (closes or depth > 0 or CONTINUES.match(line)):
                break
            last = i
            depth += line.endswith("{") - line.startswith("}")
            if closes and depth <= 0 and not OPENS.search(line):
                break
        last = i
    start = head
    while start and lines[start - 1].strip().startswith(DECORATES):
        start -= 1
    return Part(start, last + 1)


def _opens_text(line: str) -> bool:
    return len(QUOTES.findall(line)) % 2 == 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
