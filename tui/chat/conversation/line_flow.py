"""Text laid out in lines; while it grows, only the last lines are laid out again."""

from collections.abc import Iterable, Sequence

from textual.content import Content

from tui.app.textual_private import divide_line
from tui.widgets.token_styles import Run, Styles, extend, styled

TAB = 8
MAX_WORD = 2000
"""Characters of a word, or between two, that are laid out together."""


class Flow:
    """Append runs, have lines; however the runs come, the lines are the same."""

    def __init__(self, width: int, styles: Styles) -> None:
        self.width = width
        self._styles = styles
        self.lines: list[Content] = [Content("")]
        """The lines; none is wider than the width."""
        self.ends: list[bool] = [True]
        """Of each line, whether the text has a line break there or only the layout."""
        self.stable = 0
        """How many lines will stay as they are, whatever comes."""
        self._open: list[Run] = []  # what stands in the lines after those
        self._column = 0  # characters since the last line break

    def add(self, runs: Iterable[Run]) -> int:
        """Append runs; return the first line that may have changed."""
        changed = self.stable
        extend(self._open, [(self._without_tabs(text), kind) for text, kind in runs])
        del self.lines[changed:], self.ends[changed:]
        *whole, self._open = paragraphs(self._open)
        for paragraph in whole:
            self._put(paragraph)
        self._settle(len(self.lines), self._put(self._open))
        return changed

    def _put(self, paragraph: Sequence[Run]) -> list[int]:
        """Add the lines of a paragraph; return the places where they begin."""
        content = styled(paragraph, self._styles)
        places = divide_line(content.plain, self.width)
        *broken, last = content.divide(places)
        self.lines += [line.rstrip().truncate(self.width) for line in broken]
        self.lines.append(last.rstrip_end(self.width).truncate(self.width))
        self.ends += [*[False] * len(broken), True]
        return [0, *places]

    def _settle(self, first: int, places: list[int]) -> None:
        """Keep the lines of the last paragraph except the last two: a word may grow."""
        text = "".join(text for text, _ in self._open)
        starts = [i for i in range(len(places) - 2, 0, -1) if _starts_word(text, places[i])]
        done = starts[0] if starts else max(0, len(places) - 2) * (len(text) > MAX_WORD)
        self.stable = first + done
        self._open = without(self._open, places[done])

    def _without_tabs(self, text: str) -> str:
        before = " " * self._column
        text = (before + text).expandtabs(TAB)[self._column :] if "\t" in text else text
        last = text.rfind("\n")
        self._column = self._column + len(text) if last < 0 else len(text) - last - 1
        return text


def paragraphs(runs: Iterable[Run]) -> list[list[Run]]:
    """Return the runs of each paragraph, without line breaks; at least one, maybe empty."""
    found: list[list[Run]] = [[]]
    for text, kind in runs:
        first, *others = text.split("\n")
        found[-1].append((first, kind))
        found += [[(other, kind)] for other in others]
    return found


def _starts_word(text: str, place: int) -> bool:
    """Return whether a word begins there, and not the first: that is laid out with its indent."""
    return text[place - 1].isspace() and not text[place].isspace() and bool(text[:place].strip())


def without(runs: Sequence[Run], count: int) -> list[Run]:
    """Return the runs less their first so many characters."""
    rest: list[Run] = []
    for text, kind in runs:
        if len(text) > count:
            rest.append((text[count:], kind))
        count = max(0, count - len(text))
    return rest
