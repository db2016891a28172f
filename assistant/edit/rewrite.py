"""Rewrite a text with a model: the request, and the new text from its answer."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from pathlib import Path

from assistant.edit.fitting import indent, repeated_words, without_surroundings
from assistant.edit.part import Part, find, split
from assistant.edit.placeholders import left_out
from assistant.edit.text_file import TextFile
from assistant.events import Stop
from assistant.request import Message, Request
from assistant.session.messages import fence_of, join_message
from assistant.store.values import Attachment
from models.errors import UsageError

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
        question = join_message(wish, [Attachment(name, text)])
        opening, closing = self.block
        prefix = Message("assistant", f"{opening}\n")
        return replace(
            base,
            messages=(*base.messages, Message("user", question), prefix),
            stop_strings=(f"\n{closing}",),
            thinking="off",
            prediction=f"{self.old}\n",
        )

    def visible_part(self, tokens: int, part_tokens: int, n_ctx: int) -> Part:
        """Return the lines around the part that fit a context; UsageError if not even it fits.

        The part is read within the text, read again where it is not all of it, and written.
        """
        written = MARGIN + int(GROWTH * part_tokens)
        budget = n_ctx - written - (0 if self.is_whole else part_tokens)
        if tokens <= budget:
            return Part(0, len(self.file.lines))
        spare = budget - part_tokens
        if self.is_whole or spare < 0:
            path = self.file.path
            raise UsageError(
                f"{path} has {part_tokens:,} tokens to rewrite, which must fit the context of "
                f"{n_ctx:,} twice. Name a part of it, as in {path}:10-40 or {path}:name, or give a "
                "larger --ctx."
            )
        around = int(spare / max(tokens, 1) * len(self.file.lines) / 2)
        end = min(len(self.file.lines), self.part.end + around)
        return Part(max(0, self.part.start - around), end)

    def new(self, answer: str) -> tuple[str, ...]:
        """Return the lines of the whole text with the part replaced by an answer."""
        lines, (start, end) = self.file.lines, self.part
        return (*lines[:start], *self._fit(answer), *lines[end:])

    def gap(self, answer: str, stop: Stop) -> str:
        """Return why an answer is only a fragment, in half a sentence; empty if it is whole."""
        if stop not in (Stop.STOP_TOKEN, Stop.STOP_STRING):
            ends = {Stop.CANCELLED: "it was stopped", Stop.LENGTH: "it ran into the length limit"}
            return ends.get(stop, "the context is full")
        written = self._fit(answer)
        if not any(written) and self.old.strip():
            return "it is empty"
        repeated = repeated_words(self.file.lines, self.part, written)
        return repeated or left_out(self.file.lines, self.new(answer))

    def _fit(self, answer: str) -> list[str]:
        new = without_surroundings(self.file.lines, self.part, self.answer_lines(answer))
        return new if LAYOUT.search(self.wish) else indent(self.file.lines, self.part, new)

    def answer_lines(self, answer: str) -> list[str]:
        """Return the lines of an answer without the block's end, and without fences around it."""
        old, lines = self.old.split("\n"), answer.strip("\n").split("\n")
        is_tagged = self.block[1] != FENCE
        if is_tagged and lines[0].startswith(FENCE) and not self.old.startswith(FENCE):
            lines = lines[1:] or [""]
        last = lines[-1]
        if is_tagged and last == FENCE:  # of a fence within the file, or one too many
            before, after = (len([*takewhile(FENCE.__eq__, text[::-1])]) for text in (old, lines))
            is_odd = len(FENCES.findall("\n".join([*old, *lines]))) % 2 == 1
            is_end = after > before and (before > 0 or is_odd)
        else:
            opens_empty = re.fullmatch("`{3,}[^`]+", last) is not None and last != old[-1]
            is_end = last == self.block[1] or opens_empty
        return lines[:-1] if is_end else lines


def rewrites(
    arguments: Sequence[str], wish: str, read: Callable[[Path], TextFile]
) -> list[list[Rewrite]]:
    """Return the rewrites of each file, the last part first, after checking all of them.

    UsageError if a part does not exist, or two overlap, and what `read` raises.
    """
    by_file = dict[str, list[Rewrite]]()
    for argument in arguments:
        path, part = split(argument)
        of_file = by_file.setdefault(os.path.realpath(path), [])
        file = of_file[0].file if of_file else read(path)
        of_file.append(Rewrite(file, find(file.lines, part, path), wish))
    for of_file in by_file.values():
        of_file.sort(key=lambda rewrite: rewrite.part, reverse=True)  # so that no line above moves
        for below, above in pairwise(of_file):
            if above.part.end > below.part.start:
                name, line = below.file.path, below.part.start + 1
                raise UsageError(f"Two parts of {name} overlap at line {line}; name them as one.")
    return [*by_file.values()]
