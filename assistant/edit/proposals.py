"""The files that an answer in a chat holds: new versions of attached ones, and new ones."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, takewhile
from operator import itemgetter
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from assistant.edit.fitting import indent
from assistant.edit.part import Part
from assistant.edit.placeholders import left_out
from assistant.edit.text_file import END
from assistant.session.attachments import DOCUMENTS
from assistant.store.values import StoredMessage
from models.files.places import expand_user

MARKS = re.compile(r"(?P<indent> *)(?P<sign>`{3,}|~{3,})[ \t]*(?P<language>[^`]*)")
"""The line that opens or closes a block: its marks, and what follows those that open one."""
PATCHES = ("diff", "patch")
HUNK = re.compile(r"\s*(?:@@ -\d|<{7} (?i:search|original|head))")  # whatever its marks say
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
"""The share of lines that both versions have in common at least; of one that the answer names."""


class ProposedFile(NamedTuple):
    """A file that an answer holds."""

    name: str
    old: str | None  # the text that was attached, if it was
    text: str
    gap: str = ""  # what it lacks, in half a sentence

    @property
    def reason(self) -> str:
        """Why it cannot be written, or an empty string."""
        path = expand_user(self.name)
        if self.old is not None:
            return "" if os.path.isfile(path) else f"{self.name} is gone."
        with suppress(OSError, RuntimeError, ValueError):  # no folder, a link to itself, elsewhere
            if ".git" not in map(str.lower, path.resolve().relative_to(Path.cwd()).parts):
                return ""
        return f"{self.name} is outside this folder or in .git, so no answer writes it."


def proposals(answer: StoredMessage, path: Iterable[StoredMessage]) -> list[ProposedFile]:
    """Return the files that an answer on a path holds.

    They are new versions of files that were attached before it, and files that it names. Of several
    versions of a file the last counts, and of several attachments of one name, too.
    """
    lines = END.sub("\n", answer.content).split("\n")
    before = takewhile(lambda record: record.id != answer.id, path)
    versions = _attached_files(before if any(map(MARKS.match, lines)) else ())
    last = dict[str, tuple[Sequence[str], str]]()
    for name, block, gap in _named_blocks(lines, versions):
        new = _without_name(name, block, versions.get(name, ()))
        earlier, _ = last.get(name, ((), ""))
        if earlier and name not in versions and not _likeness(earlier, new, ALIKE):
            gap = "the answer has another block of this name"
            new = max(new, earlier, key=len)
        if new != versions.get(name) and not {*new} < {*earlier}:  # an excerpt, which it explains
            last[name] = new, gap
    return [_proposal(name, versions.get(name), *block) for name, block in last.items()]


def names(answer: StoredMessage, path: Iterable[StoredMessage]) -> str:
    """Return the names of the files that an answer on a path holds, and that can be written."""
    return ", ".join(file.name for file in proposals(answer, path) if not file.reason)


def _attached_files(path: Iterable[StoredMessage]) -> dict[str, list[str]]:
    """Return the lines of the files on a path that were attached as a whole, by their names."""
    attached = (attachment for record in path for attachment in record.attachments)
    whole = (file for file in attached if not (file.number or file.is_folder))
    texts = (file for file in whole if Path(file.name).suffix.lower() not in DOCUMENTS)
    return {file.name: END.sub("\n", file.text).split("\n") for file in texts}


def _without_name(name: str, new: Sequence[str], old: Sequence[str]) -> Sequence[str]:
    """Return the lines of a file without the comment by which only the answer names it."""
    comment = COMMENT.fullmatch(new[0]) if new and new[0] not in old else None
    is_named = comment and f"/{name}".endswith(f"/{comment[1].removeprefix('./')}")
    return "\n".join(new[1:]).lstrip("\n").split("\n") if is_named else new


def _proposal(name: str, old: Sequence[str] | None, new: Sequence[str], gap: str) -> ProposedFile:
    if old is None:
        return ProposedFile(name, None, "\n".join([*new, ""]), gap)
    new = indent(old, Part(0, len(old)), new)
    return ProposedFile(name, "\n".join(old), "\n".join([*new, ""]), left_out(old, new))


def _named_blocks(
    lines: list[str], versions: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, list[str], str]]:
    """Yield the name and the lines of each block of an answer that is a file, and what it may lack.

    Blocks within a block may have ends like its own: those of a file with blocks are tried.
    """
    marks = {name: sum(map(bool, map(MARKS.match, old))) for name, old in versions.items()}
    limits = {name: count // 2 + ADDED if count else 1 for name, count in marks.items()}
    start, below, budget = 0, 0, MAX_ENDS
    while start < len(lines):
        limit = min(budget, max(limits.values(), default=1))
        ends = [*islice(_ends(lines, start), max(2, limit))]
        if ends:
            budget -= len(ends)
            lines[start] += "diff" * any(map(HUNK.match, lines[start + 1 : ends[0]][:6]))
            texts = [dedent("\n".join(lines[start:end])).split("\n") for end in ends]
            fits = {name: texts[: limits[name]] for name in versions}
            name, index = _best(_label(lines[below:start], texts[0], versions), fits, versions)
            is_open = name not in versions and len(ends) > 1 and name.endswith((".md", ".mdx"))
            if name:
                yield name, texts[index][1:], "its end may open a block within it" * is_open
            start = below = ends[index]
        start += 1


def _best(
    label: str, fits: Mapping[str, Sequence[Sequence[str]]], versions: Mapping[str, Sequence[str]]
) -> tuple[str, int]:
    """Return the name of the file that a block is, or "", and the index of the best of its texts.

    `fits` has the texts that are tried for each attached file. What an answer calls a block counts
    more than what it is like, unless it is a part of that file.
    """
    known = [name for name in versions if f"/{name}".endswith(f"/{label}") and any(versions[name])]
    known = [label] if label in known else known
    if label and not known:
        return label, 0
    likeness, index, name = max(
        (
            (_likeness(old, text[1:], NAMED if name in known else ALIKE), -index, name)
            for name, old in versions.items()
            for index, text in enumerate(fits[name])
            if name.endswith(PATCHES) or not text[0].endswith(PATCHES)
        ),
        default=(0.0, 0, ""),
        key=itemgetter(0, 1),
    )
    return (name, -index) if likeness else ("", 0)


def _label(above: Sequence[str], block: Sequence[str], attached: Iterable[str]) -> str:
    """Return what an answer calls a block: beside its marks, in its first line, or above it."""
    opening, comment = block[0].lstrip("`~ "), COMMENT.fullmatch("".join(block[1:2]))
    near, other, *_ = [*filter(str.strip, reversed(above)), "", ""]
    title = other if TITLE.match(other) and not TITLE.match(near) else ""
    ends = {name.split("/", i)[-1] for name in attached for i in range(name.count("/") + 1)}
    spaced = {end.replace(" ", "_"): end for end in sorted(ends, key=len, reverse=True)}
    for text in (opening, comment[1] if comment else "", near, title):
        for word, end in spaced.items():
            text = text.replace(end, word)
        names = {(match["used"], match["name"].removeprefix("./")) for match in NAME.finditer(text)}
        if names:
            used, name = names.pop()
            is_script = Path(name).suffix in SCRIPTS and (
                "".join(block[1:]).startswith("#!") or Path(name).name not in "\n".join(block[1:])
            )
            is_use = used or names or (SHELL.match(opening) and not is_script)
            is_part = opening.endswith(PATCHES) and not name.endswith(PATCHES)
            return "" if is_use or is_part else spaced.get(name, name)
    return ""


def _ends(lines: Sequence[str], start: int) -> Iterator[int]:
    """Yield the lines that may close the block that a line opens: blocks within it are whole."""
    opening, inner = MARKS.fullmatch(lines[start]), ""
    for i in range(start + 1, len(lines) if opening else 0):
        marks = MARKS.fullmatch(lines[i])
        if marks and opening and marks["indent"] == opening["indent"]:
            sign, language = marks["sign"], marks["language"]
            if not language and not inner and sign.startswith(opening["sign"]):
                yield i  # or it opens a block within
            if language and inner and sign.startswith(inner):
                break  # it was none: this one opens the next
            inner = "" if inner and sign.startswith(inner) else inner or sign


def _likeness(old: Sequence[str], new: Sequence[str], minimum: float) -> float:
    """Return the share of lines that are in both and not blank; of the two the smaller one.

    It is 0 below the minimum, and more than any other where less than `ALIKE` is enough.
    """
    one, other = ([line.strip() for line in lines if line.strip()] for lines in (old, new))
    both = (one, {*other}), (other, {*one})
    share = min(sum(line in there for line in here) / max(1, len(here)) for here, there in both)
    return share + (minimum < ALIKE) if share >= minimum else 0.0
