"""How the three origins of a token look, with and without colour."""

from collections.abc import Iterable, Mapping

from textual.content import Content

from assistant.events import Origin, Token
from tui.safe import safe

STYLES: Mapping[Origin, str] = {
    Origin.DRAFT: "underline $text-success on $success-muted",
    Origin.RESIDUAL: "bold italic $text-warning",
    Origin.TARGET: "",
}
"""No two differ by colour alone: the underline, bold and italic stay where colours do not."""

NAMES: Mapping[Origin, str] = {
    Origin.DRAFT: "draft, accepted",
    Origin.RESIDUAL: "residual",
    Origin.TARGET: "target",
}

Run = tuple[str, Origin]


def legend() -> Content:
    """Return one line that names the styles."""
    return Content(" · ").join(Content.styled(NAMES[origin], STYLES[origin]) for origin in NAMES)


def extend(runs: list[Run], tokens: Iterable[Token]) -> None:
    """Append tokens, joining neighbours of one origin so that a long answer has few spans."""
    for token in tokens:
        text = safe(token.text)
        if runs and runs[-1][1] is token.origin:
            runs[-1] = (runs[-1][0] + text, token.origin)
        elif text:
            runs.append((text, token.origin))


def styled(runs: Iterable[Run]) -> Content:
    """Return the runs as text that can be shown."""
    return Content.assemble(*((text, STYLES[origin]) for text, origin in runs))
