"""A text laid out in lines while it grows: what is complete is never laid out again."""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from textual.content import Content, Span

from tui.text.formatted_text import Formatter
from tui.text.fragment import Fragment, Ghosts, breaks, drawn, plain, with_ghosts
from tui.text.markdown_reading import Block, read
from tui.text.token_styles import GHOST, Kind, Run, Styles

MAX_BLOCK, MAX_WORD = 8_000, 2_000
"""Characters of the longest block and the longest word that are laid out together. A text is not
formatted from a longer block on, because each round lays out the last block again.
"""
_BLANK_LINE = re.compile(r"(?:^|\n)[ \t]*\n\Z")


class TextLayout:
    """Lay out runs of tokens in lines, which do not depend on how the runs are divided."""

    def __init__(
        self, width: int, formatted: bool = True, ansi: bool = False, dark: bool = True
    ) -> None:
        self.width = width
        self.text = ""
        self.lines: list[Fragment] = []
        """The lines; none is wider than the width."""
        self.stable = 0
        """How many lines no later run can change."""
        self.kinds: set[Kind] = set()
        """The kinds of all tokens in the text."""
        self._kinds: list[Kind] = []  # of the token at each position
        self._formatted, self._ansi, self._dark = formatted, ansi, dark
        self._ghosts: Ghosts = deque()  # rejected drafts that the stable lines do not show
        self._start = 0  # of the text that the stable lines do not show
        self._column = 0  # of that start in its line
        self._opening = ""  # the line that opened the code block that continues there, if any
        self._after_item = False  # whether an item of a list is before it

    def add(self, runs: Iterable[Run]) -> int:
        """Append runs; return the first line that may have changed."""
        for text, kind in runs:
            if kind == GHOST:
                self._ghosts.append((len(self.text), text))
            else:
                self.text += text
                self._kinds += [kind] * len(text)
                if text:
                    self.kinds.add(kind)
        changed = self.stable
        del self.lines[changed:]
        if self._formatted:
            self._add_blocks()
        if not self._formatted:  # or no longer
            self._add_lines()
        self.lines = self.lines or [drawn("")]
        return changed

    def coloured(self, line: Fragment, styles: Styles) -> Content:
        """Return a line with the styles of its tokens over those of its format."""
        spans, begin = list[Span](), 0
        positions = line.positions[: len(line.content)]
        for kind, group in groupby(self._kinds[p] if p >= 0 else "" for p in positions):
            end = begin + len([*group])
            if style := styles.get(kind):
                spans.append(Span(begin, end, style))
            begin = end
        return Content(line.content.plain, [*line.content.spans, *spans])

    def _add_blocks(self) -> None:
        source = self._opening + self.text[self._start :]
        offset = self._start - len(self._opening)
        formatter = Formatter(source, offset, self._ghosts, self._ansi, self._dark)
        blocks = read(source)
        if self._opening:
            blocks[0] = replace(blocks[0], opening=self._opening)
        # Until its first line is complete, a block may turn out to be a part of the one before.
        # So the blocks that follow the last one that has begun surely are laid out again.
        line_breaks = source.count("\n")
        certain = [number for number, block in enumerate(blocks) if block.head < line_breaks]
        last = certain[-1] if certain else 0
        for number, block in enumerate(blocks):
            if number <= last or formatter.size(block) > MAX_BLOCK:
                self.stable, self._opening = len(self.lines), block.opening
                self._start = max(self._start, formatter.position(block.first))
                after_item = self._after_item
            if formatter.size(block) > MAX_BLOCK:
                self._formatted = False
                return
            if number == last:
                formatter.ghosts = deque(self._ghosts)
            self._add_block(formatter, block, block is blocks[-1])
        if blocks:
            self._after_item = after_item

    def _add_block(self, formatter: Formatter, block: Block, is_last: bool) -> None:
        """Add the lines of a block, and a blank line before it except within a list."""
        before = self.text[: formatter.position(block.first)]
        tight = block.is_item and self._after_item and not _BLANK_LINE.search(before[-MAX_WORD:])
        if self.lines and not block.opening and not tight:
            self.lines.append(drawn(""))
        for part in formatter.parts(block, is_last):
            self.lines += part.lines(self.width)
        self._after_item = block.is_item

    def _add_lines(self) -> None:
        """Add the lines of a text that is not formatted."""
        *complete, last = self.text[self._start :].split("\n")
        for line in complete:
            fragment = with_ghosts(plain(line, self._start, self._column), self._ghosts)
            self.lines += fragment.wrapped(self.width)
            self._start, self._column = self._start + len(line) + 1, 0
        self.stable = len(self.lines)
        last_line = plain(last, self._start, self._column)
        self.lines += with_ghosts(last_line, deque(self._ghosts), True).wrapped(self.width)
        # A rejected draft at the end may move to the next line.
        self._make_stable(with_ghosts(last_line, deque(self._ghosts)))

    def _make_stable(self, line: Fragment) -> None:
        """Make the lines of the text's last line stable, except two: a word may still grow."""
        text, positions = line.content.plain, line.positions
        starts = [0, *breaks(text, self.width)]
        limit = max(0, len(starts) - 2)
        before_words = (n for n in range(limit, 0, -1) if _starts_word(text, starts[n]))
        count = next(before_words, limit if len(text) > MAX_WORD else 0)
        end = starts[count]
        if count and positions[end] > positions[end - 1] >= 0:  # not within a rejected draft
            self.stable += count
            self._start = positions[end]
            self._column += sum(position >= 0 for position in positions[:end])
            while self._ghosts and self._ghosts[0][0] <= self._start:
                self._ghosts.popleft()


def _starts_word(text: str, index: int) -> bool:
    """Return whether a word begins at an index; the first does not count, it has an indent."""
    return text[index - 1].isspace() and not text[index].isspace() and bool(text[:index].strip())
