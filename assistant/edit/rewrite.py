"""Rewrite a text with a model: the request, and the new text from its answer.

In a chat, an answer may also hold the new version of an attached file.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from assistant.edit.fitting import indented, repeated, without_surroundings
from assistant.edit.part import Part
from assistant.edit.placeholders import left_out
from assistant.edit.text_file import END, TextFile
from assistant.events import Stop
from assistant.request import Message, Request
from assistant.session.attachments import DOCUMENTS
from assistant.session.messages import fence_of, joined
from assistant.store.values import Attachment, StoredMessage

INSTRUCTIONS = Path(__file__).with_name("rewrite.txt").read_text("utf-8")
MARGIN = 300  # tokens of the request besides the text, with a reserve
MARKDOWN = (".md", ".markdown", ".mdx")
FENCE = "```"
FENCES = re.compile("^`{3,}", re.MULTILINE)
LAYOUT = re.compile(r"(?i)indent|einrück|whitespace|reformat|\b(?:tabs|spaces|blanks)\b")
"""Words of a wish that concerns the indentation of lines."""
GROWTH = 1.25  # the length that is expected of a new part, relative to the old one


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A part of a text, and the wish of the user that changes it."""

    file: TextFile
    part: Part
    wish: str

    @property
    def old(self) -> str:
        """The part as it is."""
        return "\n".join(self.file.lines[slice(*self.part)])

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the text but blank lines."""
        return self.old.strip() == self.file.text.strip()

    @property
    def block(self) -> tuple[str, str]:
        """The marks that open and close the block of an answer: tags if it has fences inside.

        A fence of four backticks would not do: models close it with three.
        """
        suffix, tag = self.file.path.suffix, "file" + "_" * self.file.text.count("</file")
        has_fences = suffix.lower() in MARKDOWN or FENCE in f"{self.file.text}{self.wish}"
        return (f"<{tag}>", f"</{tag}>") if has_fences else (f"{FENCE}{suffix[1:]}", FENCE)

    def request(self, base: Request, shown: Part) -> Request:
        """Return `base` with the question: the `shown` lines, the wish, and the opening of a block.

        The answer continues the block and ends with it, so it is exactly the new part.
        """
        name, fence = self.file.path.name, fence_of(self.file.text)
        text = "\n".join(self.file.lines[slice(*shown)])
        first, last = self.part.start + 1, self.part.end
        if self.is_whole:
            what, answer = f"the file {name}", "the new file"
        else:
            what = f"lines {first} to {last} of {name}, which are:\n\n{fence}\n{self.old}\n{fence}"
            answer = "the new version of these lines"
        wish = INSTRUCTIONS.format(what=what, wish=self.wish.strip(), answer=answer)
        question = joined(wish, [Attachment(name, text)])
        opening, closing = self.block
        prefix = Message("assistant", f"{opening}\n")
        return replace(
            base,
            messages=(*base.messages, Message("user", question), prefix),
            stop_strings=(f"\n{closing}",),
            thinking="off",
            prediction=f"{self.old}\n",
        )

    def shown(self, tokens: int, part_tokens: int, n_ctx: int) -> Part | None:
        """Return the lines around the part that fit a context; None if not even it fits.

        The part is read within the text, read again where it is not all of it, and written.
        """
        written = MARGIN + int(GROWTH * part_tokens)
        budget = n_ctx - written - (0 if self.is_whole else part_tokens)
        if tokens <= budget:
            return Part(0, len(self.file.lines))
        spare = budget - part_tokens
        if self.is_whole or spare < 0:
            return None
        around = int(spare / max(tokens, 1) * len(self.file.lines) / 2)
        end = min(len(self.file.lines), self.part.end + around)
        return Part(max(0, self.part.start - around), end)

    def so_far(self, lines: Sequence[str]) -> tuple[str, ...]:
        """Return the lines of the text up to the end of the part as far as it is written."""
        return (*self.file.lines[: self.part.start], *lines)

    def new(self, answer: str) -> tuple[str, ...]:
        """Return the lines of the whole text with the part replaced by an answer."""
        return (*self.so_far(self._fitted(answer)), *self.file.lines[self.part.end :])

    def gap(self, answer: str, stop: Stop) -> str:
        """Return why an answer is only a fragment, in half a sentence; empty if it is whole."""
        if stop not in (Stop.STOP_TOKEN, Stop.STOP_STRING):
            ends = {Stop.CANCELLED: "it was stopped", Stop.LENGTH: "it ran into the length limit"}
            return ends.get(stop, "the context is full")
        written = self._fitted(answer)
        if not any(written) and self.old.strip():
            return "it is empty"
        return repeated(self.file.lines, self.part, written) or left_out(
            self.file.lines, self.new(answer)
        )

    def _fitted(self, answer: str) -> list[str]:
        new = without_surroundings(self.file.lines, self.part, self.written(answer))
        return new if LAYOUT.search(self.wish) else indented(self.file.lines, self.part, new)

    def written(self, answer: str) -> list[str]:
        """Return the lines of an answer without the block's end, and without fences around it."""
        lines = answer.strip("\n").split("\n")
        is_tagged = self.block[1] != FENCE
        if is_tagged and lines[0].startswith(FENCE) and not self.old.startswith(FENCE):
            lines = lines[1:]
        old, last = self.old.split("\n"), lines[-1]
        before, after = (
            sum(1 for _ in takewhile(FENCE.__eq__, text[::-1])) for text in (old, lines)
        )
        is_odd = len(FENCES.findall("\n".join([*old, *lines]))) % 2
        is_over = not is_tagged or (after > before and (before or is_odd))
        opens = re.fullmatch("`{3,}[^`]+", last) and last != old[-1]  # empty
        return (
            lines[:-1] if last == self.block[1] or opens or (last == FENCE and is_over) else lines
        )


MARKS = re.compile(r"(`{3,}|~{3,})[ \t]*([^`]*)")
"""The line that opens or closes a block: its marks, and the language after those that open one."""
PATCHES = ("diff", "patch")
ADDED = 3  # the most blocks that the new version of a file with blocks is expected to have more
MAX_ENDS = 300  # of the blocks of an answer that are compared, where blocks within them have ends
ALIKE = 0.5  # the share of the lines of each version that the other has as well, at least


class Proposed(NamedTuple):
    """A new version of an attached file."""

    name: str
    old: str  # the text that was attached
    text: str
    gap: str  # what it lacks, in half a sentence; usually nothing


def proposed_by(answer: StoredMessage, path: Iterable[StoredMessage]) -> Proposed | None:
    """Return the new version that an answer on a path holds, of a file attached before it.

    Of several versions the last counts, and of several attachments of one name, too.
    """
    before = takewhile(lambda record: record.id != answer.id, path)
    attached = (attachment for record in before for attachment in record.attachments)
    whole = (file for file in attached if not (file.number or file.is_folder))
    files = {
        file.name: file.text for file in whole if Path(file.name).suffix.lower() not in DOCUMENTS
    }
    versions = {name: END.sub("\n", text).split("\n") for name, text in files.items()}
    marks = {name: sum(MARKS.match(line) is not None for line in versions[name]) for name in files}
    limits = {name: count // 2 + ADDED if count else 1 for name, count in marks.items()}
    proposals, at, budget = list[tuple[str, list[str]]](), 0, MAX_ENDS
    lines = END.sub("\n", answer.content).split("\n")
    while at < len(lines):
        limit = max(1, min(budget, max(limits.values(), default=1)))
        start, ends = at, [*islice(_ends(lines, at), limit)]
        budget -= len(ends)
        at = ends[0] if ends else at
        choices = [
            (_likeness(old, lines[start + 1 : end]), -end, name)
            for name, old in versions.items()
            for end in ends[: limits[name]]
            if not lines[start].endswith(PATCHES) or name.endswith(PATCHES)
        ]
        likeness, end, name = max(choices, default=(0.0, 0, ""), key=itemgetter(0, 1))
        if likeness >= ALIKE:
            at = -end
            proposals.append((name, lines[start + 1 : at]))
        at += 1
    for name, new in reversed(proposals):
        if new != (old := versions[name]):
            new = indented(old, Part(0, len(old)), new)
            return Proposed(name, files[name], "\n".join([*new, ""]), left_out(old, new))
    return None


def _ends(lines: Sequence[str], start: int) -> Iterator[int]:
    """Yield the lines that may close the block that a line opens: blocks within it are whole."""
    opening, inner = MARKS.fullmatch(lines[start]), ""
    for i in range(start + 1, len(lines) if opening else 0):
        if (marks := MARKS.fullmatch(lines[i])) and opening:
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
