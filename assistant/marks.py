"""Marks in streaming text: markers of thoughts and calls, and stop strings."""

from collections.abc import Iterable


def split(text: str, marks: Iterable[str]) -> tuple[str, str, str]:
    """Split a text at its first mark: return the text before it, the mark, and the text after it.

    If there is none, return all but the longest end that may begin a mark, "", and that end.
    """
    marks = [mark for mark in marks if mark]
    found = [(place, mark) for mark in marks if (place := text.find(mark)) >= 0]
    if found:
        place, mark = min(found)
        return text[:place], mark, text[place + len(mark) :]
    ends = (n for mark in marks for n in range(1, len(mark)) if text.endswith(mark[:n]))
    end = len(text) - max(ends, default=0)
    return text[:end], "", text[end:]
