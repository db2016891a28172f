"""The new version of an attached file that an answer holds, if it holds one."""

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from assistant.edit.fitting import indented
from assistant.edit.part import Part
from assistant.edit.placeholders import left_out
from assistant.edit.text_file import END
from assistant.store.values import Attachment, Record

BLOCK = re.compile(r"^(`{3,})[^`\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
ALIKE = 0.5
"""The share of the lines of each version that the other has as well, at least."""


class Proposed(NamedTuple):
    """A new version of an attached file."""

    name: str
    old: str
    """What was attached."""
    text: str
    gap: str
    """What it lacks, in half a sentence; usually nothing."""


def proposed(answer: str, attachments: Iterable[Attachment]) -> Proposed | None:
    """Return the new version of a file that an answer holds; of several, the last.

    `attachments` come in the order in which they were sent: of one name, the last counts.
    """
    files = {each.name: each.text for each in attachments}
    versions = {name: END.sub("\n", text).split("\n") for name, text in files.items()}
    for _, text in reversed(BLOCK.findall(answer)):
        lines = END.sub("\n", text).split("\n")[:-1]
        likeness = {name: _likeness(old, lines) for name, old in versions.items()}
        name = max(likeness, key=likeness.__getitem__, default="")
        if name and likeness[name] >= ALIKE and lines != (old := versions[name]):
            new = indented(old, Part(0, len(old)), lines)
            return Proposed(name, files[name], "\n".join([*new, ""]), left_out(old, new))
    return None


def proposed_by(answer: Record, path: Iterable[Record]) -> Proposed | None:
    """Return the new version that an answer on a path holds, of a file attached before it."""
    before = takewhile(lambda record: record.id != answer.id, path)
    attached = (each for record in before for each in record.attachments)
    return proposed(answer.content, (each for each in attached if not each.number))  # whole files


def _likeness(old: Sequence[str], new: Sequence[str]) -> float:
    """Return the share of lines that say something and are in both; of the two the smaller one."""
    sides = [[line.strip() for line in lines if line.strip()] for lines in (old, new)]
    if not all(sides):
        return 0.0
    (one, other) = sides
    return min(
        sum(line in known for line in lines) / len(lines)
        for lines, known in ((one, {*other}), (other, {*one}))
    )
