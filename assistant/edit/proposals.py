"""The files that an answer in a chat holds: new versions of attached ones, and new ones."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, takewhile
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
    last = dict[str, tuple[Sequence[str], str]]()  # the lines by name, and what they lack
    for name, block, gap in _named_blocks(lines, versions):
        new = _without_name(name, block, versions.get(name, ()))
        earlier, _ = last.get(name, ((), ""))
        if earlier and name not in versions and not _likeness(earlier, new):
            gap = "the answer has another block of this name"
            new = max(new, earlier, key=len)
        is_excerpt = {*new} < {*earlier}  # which the answer explains
        if new != versions.get(name) and not is_excerpt:
            last[name] = new, gap
    return [_proposal(name, versions.get(name), new, gap) for name, (new, gap) in last.items()]


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
    lines: Sequence[str], versions: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, list[str], str]]:
    """Yield the name and the lines of each block of an answer that is a file, and what it may lack.

    Blocks within a block may have ends like its own: those of a file with blocks are tried.
    """
    marks = {name: sum(map(bool, map(MARKS.match, old))) for name, old in versions.items()}
    limits = {name: count // 2 + ADDED if count else 1 for name, count in marks.items()}
    start, below = 0, 0  # below the last block
    budget = MAX_ENDS
    while start < len(lines):
        limit = min(budget, max(limits.values(), default=1))
        ends = [*islice(_ends(lines, start), max(2, limit))]
        if ends:
            budget -= len(ends)
            opening = lines[start].lstrip("`~ ")
            texts = [dedent("\n".join(lines[start:end])).split("\n")[1:] for end in ends]
            label = _label(lines[below:start], opening, texts[0], versions)
            is_patch = opening.endswith(PATCHES) or any(map(HUNK.match, texts[0][:6]))
            if is_patch and not label.endswith(PATCHES):  # it is a part of that file
                label = ""
            tried = [name for name in versions if name.endswith(PATCHES) or not is_patch]
            fits = {name: texts[: limits[name]] for name in tried}
            name, index = _best(label, fits, versions)
            is_open = name not in versions and len(ends) > 1 and name.endswith((".md", ".mdx"))
            if name:
                yield name, texts[index], "its end may open a block within it" if is_open else ""
            start = below = ends[index]
        start += 1


def _best(
    label: str, fits: Mapping[str, Sequence[Sequence[str]]], versions: Mapping[str, Sequence[str]]
) -> tuple[str, int]:
    """Return the name of the file that a block is, or "", and the index of the best of its texts.

    `fits` has the texts that are tried for each attached file that it may be. What an answer calls
    a block counts more than what it is like.
    """
    known = [name for name in versions if f"/{name}".endswith(f"/{label}") and any(versions[name])]
    known = [label] if label in known else known
    if label and not known:
        return label, 0
    candidates = [
        (_likeness(versions[name], text, is_named=name in known), name, index)
        for name, texts in fits.items()
        for index, text in enumerate(texts)
    ]
    # Of texts that are equally like a file, the shortest.
    best = max(candidates, key=lambda candidate: (candidate[0], -candidate[2]), default=None)
    return best[1:] if best and best[0] else ("", 0)


def _label(above: Sequence[str], opening: str, block: Sequence[str], files: Iterable[str]) -> str:
    """Return what an answer calls a block: beside its marks, in its first line, or above it.

    The first of these texts that has a name decides. One of several names, or that of a file that
    the block only uses, is none of the block.
    """
    comment = COMMENT.fullmatch("".join(block[:1]))
    near, other, *_ = [*filter(str.strip, reversed(above)), "", ""]
    title = other if TITLE.match(other) and not TITLE.match(near) else ""
    # An attached file may be named by the end of its path, in which blanks are written as `_` here.
    ends = {name.split("/", i)[-1] for name in files for i in range(name.count("/") + 1)}
    spaced = {end.replace(" ", "_"): end for end in sorted(ends, key=len, reverse=True)}
    for text in (opening, comment[1] if comment else "", near, title):
        for word, end in spaced.items():
            text = text.replace(end, word)
        named = {(match["used"], match["name"].removeprefix("./")) for match in NAME.finditer(text)}
        if named:
            (used, name), *others = named
            is_own = "".join(block).startswith("#!") or Path(name).name not in "\n".join(block)
            is_script = is_own and Path(name).suffix in SCRIPTS
            is_used = used or (SHELL.match(opening) and not is_script)
            return "" if others or is_used else spaced.get(name, name)
    return ""


def _ends(lines: Sequence[str], start: int) -> Iterator[int]:
    """Yield the lines that may close the block that a line opens: blocks within it are whole."""
    opening = MARKS.fullmatch(lines[start])
    if opening is None:
        return
    inner = ""  # the marks that have opened a block within it
    for i in range(start + 1, len(lines)):
        marks = MARKS.fullmatch(lines[i])
        if marks is None or marks["indent"] != opening["indent"]:
            continue
        sign, language = marks["sign"], marks["language"]
        if inner and sign.startswith(inner):
            if language:
                return  # the marks have opened none: these open the next block
            inner = ""
            continue
        if not inner and not language and sign.startswith(opening["sign"]):
            yield i  # or it opens a block within
        inner = inner or sign


def _likeness(old: Sequence[str], new: Sequence[str], is_named: bool = False) -> float:
    """Return the share of lines that are in both and not blank; of the two the smaller one.

    It is 0 if that is not enough. That of a version that the answer names is above all others.
    """
    one, other = ([line.strip() for line in lines if line.strip()] for lines in (old, new))
    both = (one, {*other}), (other, {*one})
    share = min(sum(line in there for line in here) / max(1, len(here)) for here, there in both)
    if share < (NAMED if is_named else ALIKE):
        return 0.0
    return 1.0 + share if is_named else share
