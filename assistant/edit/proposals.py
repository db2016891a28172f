"""The files that an answer in a chat holds: new versions of attached ones, and new ones."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from assistant.edit.fitting import indented
from assistant.edit.part import Part
from assistant.edit.placeholders import left_out
from assistant.edit.text_file import END
from assistant.session.attachments import DOCUMENTS
from assistant.store.values import StoredMessage
from models.files.places import expanded

MARKS = re.compile(r"(`{3,}|~{3,})[ \t]*([^`]*)")
"""The line that opens or closes a block: its marks, and what follows those that open one."""
OPENING = re.compile(r"^ *(?:```|~~~)", re.MULTILINE)
PATCHES = ("diff", "patch")
SHELL = re.compile(r"(?:ba|z|fi|c)?sh\b|shell|console|terminal|powershell|cmd")
SCRIPTS = ("", ".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat")
"""The languages of commands, which use a file that is named above them, unless it is a script."""
NAME = re.compile(Path(__file__).with_name("names.txt").read_text("utf-8"), re.VERBOSE)
"""A name that can be a file's; what it follows if the block only uses the file is not one."""
COMMENT = re.compile(r"\s*(?:#|//|--|/\*|<!--)\s*(?i:file(?:name)?:?\s+)?(\S+)\s*(?:\*/|-->)?")
"""A first line that is only the name of the block, as a comment."""
TITLE = re.compile(r"\s*(?:#|\*\*|\d+[.)]\s)")
ADDED = 3  # the most blocks that the new version of a file with blocks is expected to have more
MAX_ENDS = 300  # of the blocks of an answer that are compared, where blocks within them have ends
ALIKE, NAMED = 0.5, 0.2
"""The least share of the lines of each version that the other has, too; of one that is named."""


class Proposal(NamedTuple):
    """A file that an answer holds."""

    name: str
    old: str | None  # the text that was attached, if it was
    text: str
    gap: str = ""  # what it lacks, in half a sentence


def proposals(answer: StoredMessage, path: Iterable[StoredMessage]) -> list[Proposal]:
    """Return the files that an answer on a path holds.

    They are new versions of files that were attached before it, and files that it names. Of several
    versions of a file the last counts, and of several attachments of one name, too.
    """
    if not OPENING.search(answer.content):
        return []
    files = _attached(takewhile(lambda record: record.id != answer.id, path))
    versions = {name: END.sub("\n", text).split("\n") for name, text in files.items()}
    last = dict[str, Sequence[str]]()
    for name, block in _named_blocks(END.sub("\n", answer.content).split("\n"), versions):
        new = _without_name(name, block, versions.get(name, ()))
        is_excerpt = {*new} < {*last.get(name, ())}  # which the answer explains
        if new != versions.get(name) and not is_excerpt:
            last[name] = new
    return [_proposal(name, files.get(name), new) for name, new in last.items()]


def names(answer: StoredMessage, path: Iterable[StoredMessage]) -> str:
    """Return the names of the files that an answer on a path holds, without attached ones gone."""
    return ", ".join(
        file.name for file in proposals(answer, path)
        if file.old is None or os.path.isfile(expanded(file.name))
    )  # fmt: skip


def _attached(path: Iterable[StoredMessage]) -> dict[str, str]:
    """Return the texts of the files on a path that were attached as a whole, by their names."""
    attached = (attachment for record in path for attachment in record.attachments)
    whole = (file for file in attached if not (file.number or file.is_folder))
    return {
        file.name: file.text for file in whole if Path(file.name).suffix.lower() not in DOCUMENTS
    }


def _without_name(name: str, new: Sequence[str], old: Sequence[str]) -> Sequence[str]:
    """Return the lines of a file without the comment by which only the answer names it."""
    comment = COMMENT.fullmatch(new[0]) if new and new[0] not in old else None
    is_named = comment and f"/{name}".endswith(f"/{comment[1].removeprefix('./')}")
    return "\n".join(new[1:]).lstrip("\n").split("\n") if is_named else new


def _proposal(name: str, attached: str | None, new: Sequence[str]) -> Proposal:
    if attached is None:
        return Proposal(name, None, "\n".join([*new, ""]))
    old = END.sub("\n", attached).split("\n")
    new = indented(old, Part(0, len(old)), new)
    return Proposal(name, attached, "\n".join([*new, ""]), left_out(old, new))


def _named_blocks(
    lines: Sequence[str], versions: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the lines of each block of an answer that is a file.

    Blocks within a block may have ends like its own: those of a file with blocks are tried.
    """
    marks = {name: sum(map(bool, map(MARKS.match, old))) for name, old in versions.items()}
    limits = {name: count // 2 + ADDED if count else 1 for name, count in marks.items()}
    start, below, budget = 0, 0, MAX_ENDS
    while start < len(lines):
        limit = max(1, min(budget, max(limits.values(), default=1)))
        ends = [*islice(_ends(lines, start), limit)]
        budget -= len(ends)
        if ends:
            texts = [_dedented(lines[start:end]) for end in ends]
            label = _label(lines[below:start], texts[0])
            is_patch = texts[0][0].endswith(PATCHES)
            fits = {
                name: [_likeness(old, text[1:]) for text in texts[: limits[name]]]
                for name, old in versions.items()
                if name.endswith(PATCHES) or not is_patch
            }
            name, index = _best(label, fits)
            if name:
                yield name, texts[index][1:]
            start = below = ends[index]
        start += 1


def _dedented(lines: Sequence[str]) -> list[str]:
    """Return the lines of a block without the indentation of its first one, if all have it."""
    indent = _indent(lines[0])
    has_all = all(line.startswith(indent) for line in lines if line.strip())
    return [line.removeprefix(indent) if has_all else line for line in lines]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def _best(label: str, fits: Mapping[str, Sequence[float]]) -> tuple[str, int]:
    """Return the name of the file that a block is, or "", and the index of the end that fits it.

    `fits` says how like the text up to each end is to each attached file. What the answer calls the
    block counts more, unless it is a part of that file.
    """
    known = next((name for name in fits if f"/{name}".endswith(f"/{label}")), "")
    choices = [
        (fit + (name == known and fit >= NAMED), -index, name)
        for name, of_file in fits.items()
        for index, fit in enumerate(of_file)
    ]
    likeness, index, name = max(choices, default=(0.0, 0, ""), key=itemgetter(0, 1))
    if label and not known:
        return label, 0
    return (name, -index) if likeness >= ALIKE else ("", 0)


def _label(above: Sequence[str], block: Sequence[str]) -> str:
    """Return what an answer calls a block: beside its marks, in its first line, or above it."""
    opening, comment = block[0].lstrip("`~ "), COMMENT.fullmatch("".join(block[1:2]))
    near, other, *_ = [*filter(str.strip, reversed(above)), "", ""]
    title = other if TITLE.match(other) and not TITLE.match(near) else ""
    for text in (opening, comment[1] if comment else "", near, title):
        names = {(match["used"], match["name"].removeprefix("./")) for match in NAME.finditer(text)}
        if names:
            used, name = names.pop()
            is_script = not SHELL.match(opening) or _is_script(name, block[1:])
            is_patch = name.endswith(PATCHES) or not opening.endswith(PATCHES)
            return name if is_script and is_patch and not (used or names) else ""
    return ""


def _is_script(name: str, lines: Sequence[str]) -> bool:
    """Return whether commands are the script of that name, and do not run it."""
    is_run = Path(name).name in "\n".join(lines) and not lines[0].startswith("#!")
    return Path(name).suffix in SCRIPTS and not is_run


def _ends(lines: Sequence[str], start: int) -> Iterator[int]:
    """Yield the lines that may close the block that a line opens: blocks within it are whole."""
    indent = _indent(lines[start])
    opening, inner = MARKS.fullmatch(lines[start].lstrip(" ")), ""
    for i in range(start + 1, len(lines) if opening else 0):
        if (marks := MARKS.fullmatch(lines[i].removeprefix(indent))) and opening:
            sign, language = marks.groups()
            if not language and not inner and sign.startswith(opening[1]):
                yield i  # or it opens a block within
            if language and inner and sign.startswith(inner):
                break  # it was none: this one opens the next
            inner = "" if inner and sign.startswith(inner) else inner or sign


def _likeness(old: Sequence[str], new: Sequence[str]) -> float:
    """Return the share of lines that are in both and not blank; of the two the smaller one."""
    sides = [[line.strip() for line in lines if line.strip()] for lines in (old, new)]
    if not all(sides):
        return 0.0
    (one, other) = sides
    return min(
        sum(line in known for line in lines) / len(lines)
        for lines, known in ((one, {*other}), (other, {*one}))
    )
