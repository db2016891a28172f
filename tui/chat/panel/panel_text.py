"""What the panel of figures says of one moment, as lines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from textual.content import Content

from assistant.events import Decoded, Tally
from assistant.store.values import Attachment
from tui.figures import of_form
from tui.outlook import Outlook, outlook
from tui.safe import one_line, safe
from tui.widgets.text_figures import MISSING, bar, level, shares, sparkline
from tui.widgets.token_styles import NAMES

NEARLY_FULL = 0.85
SOURCES = {
    **NAMES, "model": "guessing model", "suffix": "copied from this chat", "ngram": "common phrases"
}  # fmt: skip
MUTED = "$foreground-muted"  # $text-muted comes out at full strength in spans
TIMES = (("guess", "━", "$success"), ("check", "─", "$primary"), ("rest", "┄", MUTED))
HUES = {True: "bold $text-success", False: "bold $text-warning", None: "bold"}

Section = list[Content]


@dataclass(frozen=True, slots=True)
class PanelFigures:
    """Everything that is shown."""

    last: Decoded  # round
    rates: Sequence[float] = ()  # tokens a second over the answer
    n_ctx: int = 0
    no_draft: str | None = None
    copied: Sequence[Attachment] = ()  # from which passages, last


def lines(shown: PanelFigures, width: int, height: int) -> list[Content]:
    """Return the lines, closer together where there is little room; the last ones are left out."""
    sections = _sections(shown, width)
    while sum(map(len, sections)) > height and len(sections) > 3:
        sections.pop()
    return _joined(sections, gaps=height - sum(map(len, sections)))


def paragraph(text: str, width: int, style: str = MUTED) -> Section:
    """Return a text in lines of at most `width` cells."""
    return [Content.styled(line, style) for line in wrap(safe(text), max(width, 10))]


def pair(left: str | Content, right: str | Content, width: int) -> Content:
    """Return a name on the left and its value on the right."""
    name = Content.styled(left, MUTED) if isinstance(left, str) else left
    value = Content.styled(right, "bold") if isinstance(right, str) else right
    gap = width - name.cell_length - value.cell_length
    return Content.assemble(name, " " * max(gap, 1), value)


def _joined(sections: Iterable[Section], gaps: int) -> list[Content]:
    """Put sections below each other, with a blank line at each of the first `gaps` seams."""
    joined: list[Content] = []
    for seam, section in enumerate(filter(None, sections)):
        joined += [*([Content("")] if 0 < seam <= gaps else []), *section]
    return joined


def _sections(shown: PanelFigures, width: int) -> list[Section]:
    last, found = shown.last, outlook(shown.last, shown.no_draft)
    return [
        _words(found, width),
        _speed(shown, found, width),
        _yield(last, width),
        paragraph(of_form(last.stats), width) if last.stats.masked_rows else [],
        _positions(last.stats.positions, width),
        _sources(shown, width),
        _times(last, width),
        _context(shown, width),
    ]


def _words(found: Outlook, width: int) -> Section:
    worth = paragraph(f"{found.worth}." if found.worth else "", width, HUES[found.saves])
    return [*worth, *paragraph(found.why, width), *paragraph(found.doing, width)]


def _yield(last: Decoded, width: int) -> Section:
    rate = last.stats.acceptance_rate
    right = MISSING if rate is None else f"{rate:.0%} of {last.stats.tested:,}"
    return [
        pair("Tokens per round", f"{last.stats.tokens_per_eval:.2f}", width),
        pair("Guesses right", right, width),
        pair("Guesses in a round", str(last.lookahead), width),
    ]


def _positions(tallies: Sequence[Tally], width: int) -> Section:
    tested = [(i, tally.rate) for i, tally in enumerate(tallies, 1) if tally.rate is not None]
    if not tested:
        return []
    heading = Content.styled("Right by place in the round", MUTED)
    cells = [
        Content.assemble(f"{i} ", (level(rate), "$success"), f" {rate:<5.0%}") for i, rate in tested
    ]
    row = max(1, width // cells[-1].cell_length)
    return [heading, *(Content("").join(cells[i : i + row]) for i in range(0, len(cells), row))]


def _sources(shown: PanelFigures, width: int) -> Section:
    rated: Section = []
    for source, tally in shown.last.stats.sources.items():
        if tally.rate is not None:
            name, value = SOURCES.get(source, safe(source)), f"{tally.rate:.0%} of {tally.tested:,}"
            drawn = bar(tally.rate, width - len(name) - len(value) - 3)
            rated.append(pair(Content.assemble(f"{name} ", (drawn, "$success")), value, width))
    copied = " and ".join(one_line(each.title) for each in shown.copied)
    return [*rated, *paragraph(f"The last copy is from {copied}." if copied else "", width)]


def _speed(shown: PanelFigures, found: Outlook, width: int) -> Section:
    section = [pair("Tokens per second", f"{shown.last.stats.tokens_per_s:.1f}", width)]
    if shown.rates:
        section.append(Content.styled(sparkline(shown.rates[-width:]), "$primary"))
    if found.plain_tokens_per_s is not None:
        section.append(pair("Without guesses, estimated", f"{found.plain_tokens_per_s:.1f}", width))
    return section


def _times(last: Decoded, width: int) -> Section:
    seconds = (last.stats.draft_s, last.stats.verify_s, last.stats.host_s)
    total = sum(seconds)
    if total <= 0:
        return []
    cells = shares(seconds, width)
    stack = [(glyph * n, hue) for (_, glyph, hue), n in zip(TIMES, cells, strict=True)]
    words = [
        Content.assemble((glyph, hue), (f" {name} {part / total:.0%}", MUTED))
        for (name, glyph, hue), part in zip(TIMES, seconds, strict=True)
    ]
    heading = pair("Time", f"{total:.1f} s", width)
    return [heading, Content.assemble(*stack), Content("  ").join(words)]


def _context(shown: PanelFigures, width: int) -> Section:
    used, n_ctx = shown.last.context_used, shown.n_ctx
    if not n_ctx:
        return []
    hue = "bold $text-warning" if used / n_ctx > NEARLY_FULL else "bold"
    return [pair("Context", Content.styled(f"{used:,} of {n_ctx:,}", hue), width)]
