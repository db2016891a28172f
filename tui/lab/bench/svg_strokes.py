"""What plots are drawn with, as SVG elements."""

from html import escape

from tui.safe import safe


def line(
    x: float, y: float, to_x: float, to_y: float, colour: str, width: float, dashes: str = ""
) -> str:
    """Return a straight line."""
    dashed = f";stroke-dasharray:{dashes}" if dashes else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" '
        f'style="stroke:{colour};stroke-width:{width};stroke-linecap:round{dashed}"/>'
    )


def dot(x: float, y: float, colour: str, says: str = "") -> str:
    """Return a dot; what it says is seen where the mouse rests on it."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" style="fill:{colour}">{told(says)}</circle>'


def bar(x: float, y: float, width: float, height: float, colour: str, says: str = "") -> str:
    """Return a filled rectangle."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} rx="2" style="fill:{colour};fill-opacity:.85">{told(says)}</rect>'


def label(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    """Return a text; `more` are attributes."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{shown(text)}</text>'


def told(text: str) -> str:
    """Return a text as what an element is about."""
    return f"<title>{shown(text)}</title>" if text else ""


def shown(text: str) -> str:
    """Return a text that is only a text, whatever is in it."""
    return escape(safe(text))
