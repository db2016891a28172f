"""Long text in parts, so that only its end is laid out again while it grows."""

from collections.abc import Sequence

from textual.content import Content

from tui.widgets.origins import Run, Styles, styled

TAIL, BLOCK = 350, 3000
"""Characters after which a line that ends closes the growing part, and a part that stays."""
SLACK = 2000
"""Characters after which a part is closed anywhere, when no line ends."""


def parts(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the runs in parts; the last one may grow, the others are as they will stay."""
    found, rest = [], list(runs)
    while (two := cut(rest, BLOCK)) is not None:
        done, rest = two
        found.append(done)
    return [*found, rest]


def cut(runs: list[Run], size: int) -> tuple[list[Run], list[Run]] | None:
    """Part runs that have grown too long, after a line break where there is one."""
    text = _beginning(runs, size + SLACK)
    if len(text) <= size:
        return None
    at = text.rfind("\n", 0, size) + 1 or text.find("\n", size) + 1
    if not at:
        if len(text) < size + SLACK:
            return None
        at = text.rfind(" ", size) + 1 or len(text)
    return _divide(runs, at)


def length(runs: Sequence[Run]) -> int:
    """Return the number of characters."""
    return sum(len(text) for text, _ in runs)


def shown(runs: Sequence[Run], styles: Styles) -> Content:
    """Return a part as it is shown: the line break at its end is the layout's."""
    content = styled(runs, styles)
    return content[:-1] if content.plain.endswith("\n") else content


def _beginning(runs: list[Run], size: int) -> str:
    texts, total = [], 0
    for text, _ in runs:
        texts.append(text)
        total += len(text)
        if total >= size:
            break
    return "".join(texts)[:size]


def _divide(runs: list[Run], at: int) -> tuple[list[Run], list[Run]]:
    position = 0
    for i, (text, kind) in enumerate(runs):
        if position + len(text) >= at:
            two = (text[: at - position], kind), (text[at - position :], kind)
            rest = [two[1], *runs[i + 1 :]] if two[1][0] else runs[i + 1 :]
            return [*runs[:i], two[0]], rest
        position += len(text)
    return runs, []
