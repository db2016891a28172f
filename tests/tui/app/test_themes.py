"""The colours of every theme: origins can be read, and the focus is seen."""

from textual.color import Color
from textual.style import Style

from assistant.settings.settings import THEMES
from tui.app.program import Program
from tui.models.model_list import STYLES
from tui.text.formatted_text import CODE, HEADING, SyntaxTheme
from tui.text.fragment import DRAWN
from tui.text.token_styles import COLOURED, GHOST

READ, SEEN = 4.5, 3.0
"""Contrasts of text, and of what is struck out, or is a line."""
NAMES = ("background", "surface", "panel", "boost", "primary")
FORMATS = {
    *(style for style in SyntaxTheme.STYLES.values() if "$" in style and " on " not in style),
    HEADING, CODE, DRAWN, "$foreground",
}  # fmt: skip
"""The styles of formatted text, which stand on the ground of right guesses, too."""
FOCUS = ("accent", "primary", "success")
"""What frames, bars and marks are drawn in where the keys go."""


def luminance(colour: Color) -> float:
    parts = colour.normalized
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return sum(share * v for share, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(style: Style, ground: Color) -> float:
    """Return that of a text on a ground."""
    behind = ground + (style.background or ground)
    less, more = sorted(map(luminance, (behind, behind + (style.foreground or behind))))
    return (more + 0.05) / (less + 0.05)


async def test_in_every_theme_tokens_are_read_and_the_focus_is_seen() -> None:
    faults: list[str] = []
    wanted = {style: SEEN if kind == GHOST else READ for kind, style in COLOURED.items() if style}
    wanted |= {f"${hue}": SEEN for hue in FOCUS}
    rows = {"$foreground-muted": SEEN, **dict.fromkeys((*STYLES.values(), "$text-accent"), READ)}
    app = Program()
    async with app.run_test() as pilot:
        for app.theme in (name for name in THEMES if not name.startswith("ansi")):
            await pilot.pause()
            plain, surface, panel, boost, hue = (Color.parse(app.theme_variables[n]) for n in NAMES)
            grounds, chosen = (plain, surface, panel, plain + boost), surface + hue.with_alpha(0.2)
            pairs = [(s, ground, least) for s, least in wanted.items() for ground in grounds]
            guess = Color.parse(app.theme_variables["success-muted"])
            pairs += [(style, guess, READ) for style in FORMATS]
            for text, ground, least in [*pairs, *((s, chosen, least) for s, least in rows.items())]:
                found = contrast(Style.parse(f"$foreground {text}"), ground)
                if found < least:
                    faults.append(f"{app.theme}: {text} on {ground.hex}: {found:.2f}")
    assert not faults, "\n".join(faults)
