"""How the three origins of a token look, with and without colour."""

from collections.abc import Iterable, Mapping

from textual.content import Content

from assistant.events import Origin, Token
from tui.safe import safe

Styles = Mapping[Origin, str]

COLOURED: Styles = {
    Origin.DRAFT: "$text-success on $success-muted",
    Origin.RESIDUAL: "bold italic $text-warning",
    Origin.TARGET: "",
}
PLAIN: Styles = {
    Origin.DRAFT: "underline",
    Origin.RESIDUAL: "bold reverse",
    Origin.TARGET: "",
}
"""Where there are no colours; a line under most of an answer would be too much where there are."""

NAMES: Mapping[Origin, str] = {
    Origin.DRAFT: "draft, accepted",
    Origin.RESIDUAL: "residual",
    Origin.TARGET: "target",
}

Run = tuple[str, Origin]


def styles(no_color: bool) -> Styles:
    """Return the styles for a terminal with or without colours."""
    return PLAIN if no_color else COLOURED


def legend(styles: Styles) -> Content:
    """Return one line that names the styles."""
    return Content(" · ").join(Content.styled(NAMES[origin], styles[origin]) for origin in NAMES)


def extend(runs: list[Run], tokens: Iterable[Token]) -> None:
    """Append tokens, joining neighbours of one origin so that a long answer has few spans."""
    for token in tokens:
        text = safe(token.text)
        if runs and runs[-1][1] is token.origin:
            runs[-1] = (runs[-1][0] + text, token.origin)
        elif text:
            runs.append((text, token.origin))


def styled(runs: Iterable[Run], styles: Styles) -> Content:
    """Return the runs as text that can be shown."""
    return Content.assemble(*((text, styles[origin]) for text, origin in runs))
