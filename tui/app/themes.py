"""Themes with enough contrast between text or lines and their backgrounds."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from textual.color import BLACK, WHITE, Color, rgb_to_lab
from textual.theme import Theme

HUES = ("primary", "secondary", "accent", "success", "warning", "error")
LINE, WORD = 3.5, 4.55
"""Contrast of lines and of text with every background: above 4.5 also when colours are rounded."""
MIN_CONTRAST = {"foreground": WORD, "foreground-muted": WORD, **dict.fromkeys(HUES, LINE)}
GROUNDS = ("background", "surface", "panel")
STEPS = 20


def legible(theme: Theme) -> Theme:
    """Return a theme with enough contrast.

    A theme of the terminal's own colours keeps them, without coloured backgrounds: the terminal has
    no faint variants of them.
    """
    if theme.ansi:
        faint = ["border-blurred", *(f"{hue}-muted" for hue in HUES)]
        return replace(theme, variables=theme.variables | dict.fromkeys(faint, "ansi_default"))
    given, end = _colours(theme), WHITE if theme.dark else BLACK
    grounds = [given[name] for name in GROUNDS]
    grounds.append(given["success-muted"])  # of right guesses, in all kinds of text
    adjusted: dict[str, Any] = {
        k: _contrasting(given[k], end, grounds, MIN_CONTRAST[k]).hex for k in MIN_CONTRAST
    }
    muted, lines = adjusted.pop("foreground-muted"), f"{adjusted['foreground']} 40%"
    tints = {name: given[name].hex for name in (f"{hue}-muted" for hue in HUES)}  # as they were
    mixed = _colours(replace(theme, variables=theme.variables | tints, **adjusted))
    grounds.append(mixed["surface"].blend(mixed["primary"], 0.2))  # a chosen row
    behind = {f"text-{hue}": [*grounds, mixed[f"{hue}-muted"]] for hue in HUES}
    words = {name: _contrasting(mixed[name], end, behind[name], WORD).hex for name in behind}
    illegible = ("footer-", "block-cursor-")  # in some themes
    variables = {k: value for k, value in theme.variables.items() if not k.startswith(illegible)}
    overrides = tints | words | {
        "foreground-muted": muted, "text-disabled": "auto 60%",
        "border-blurred": lines, "scrollbar": lines, "scrollbar-background": "transparent",
    }  # fmt: skip
    return replace(theme, variables=variables | overrides, **adjusted)


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two colours as WCAG defines it, from 1 to 21."""
    less, more = sorted(((rgb_to_lab(colour).L + 16) / 116) ** 3 for colour in (one, other))
    return (more + 0.05) / (less + 0.05)


def _contrasting(colour: Color, end: Color, grounds: Sequence[Color], minimum: float) -> Color:
    """Return a colour, blended with black or white until its contrast is enough everywhere."""
    way = (colour.blend(end, step / STEPS) for step in range(STEPS))
    return next((c for c in way if min(contrast(g, g + c) for g in grounds) >= minimum), end)


def _colours(theme: Theme) -> dict[str, Color]:
    given = theme.to_color_system().generate()
    of_hues = (name for hue in HUES for name in (f"text-{hue}", f"{hue}-muted"))
    return {name: Color.parse(given[name]) for name in (*MIN_CONTRAST, *GROUNDS, *of_hues)}
