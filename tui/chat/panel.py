"""The panel of figures: the gain of guesses, and the speed of answers."""

from collections import deque
from collections.abc import Iterable, Sequence

from textual import on
from textual.content import Content
from textual.events import Resize, Show
from textual.reactive import reactive

from assistant.events import Decoded, Ready, Tally
from tui.formatting import MISSING, bar, level, shares, sparkline
from tui.labels import constraint_figures
from tui.outlook import Outlook, outlook
from tui.safe import safe
from tui.text.token_styles import NAMES
from tui.widgets.lines import MUTED, Lines, pair, paragraph

WIDTH = 40
PERIOD_S = 0.25
"""Seconds of decoding that each rate is an average of."""
NO_FIGURES = "Figures come with the next words."
NEARLY_FULL = 0.85
SOURCES = {
    **NAMES, "model": "guessing model", "suffix": "copied from this chat", "ngram": "common phrases"
}  # fmt: skip
TIMES = (("guess", "━", "$success"), ("check", "─", "$primary"), ("rest", "┄", MUTED))
HUES = {True: "bold $text-success", False: "bold $text-warning", None: "bold"}

Section = list[Content]


class FiguresPanel(Lines):
    """Show the figures of the current or the last answer."""

    DEFAULT_CSS = f"""
    FiguresPanel {{
        dock: right; width: {WIDTH}; max-width: 50%; height: 1fr; padding: 1 1 0 2;
        background: $surface; display: none;
    }}
    """

    wanted: reactive[bool] = reactive(False, init=False)
    """Whether the user opened it; it stays so over restarts."""

    def __init__(self) -> None:
        super().__init__(id="speculation")
        self.can_focus = False
        self.n_ctx = 0
        """The context of the loaded model, in tokens."""
        self.no_draft: str | None = None
        """Why there is no draft model, if there is none."""
        self.last: Decoded | None = None
        """The last round of the answer."""
        self.rates: deque[float] = deque(maxlen=WIDTH)
        """The tokens per second so far."""
        self._since = (0.0, 0)  # seconds and tokens at the last rate

    def ready(self, ready: Ready, no_draft: str | None) -> None:
        """Start over with other models; `no_draft` is why there is no draft, if there is none."""
        self.n_ctx, self.no_draft = ready.target.n_ctx, no_draft
        self.clear()

    def add(self, decoded: Decoded) -> None:
        """Add a round, which `paint` shows."""
        self.last = decoded
        seconds, tokens = decoded.stats.decode_s, decoded.stats.generated_tokens
        last_s, counted = self._since
        if seconds - last_s >= PERIOD_S:
            self.rates.append((tokens - counted) / (seconds - last_s))
            self._since = seconds, tokens

    def clear(self) -> None:
        """Forget the last answer, and explain the empty panel."""
        self.last = None
        self.rates.clear()
        self._since = (0.0, 0)
        self.paint()

    @on(Show)  # what came while it was hidden
    @on(Resize)
    def paint(self) -> None:
        """Show the last round."""
        if self.display and self.is_mounted:
            self.show_lines(self.figures(self.line_width, self.size.height))

    def figures(self, width: int, height: int) -> list[Content]:
        """Return the lines; too little height removes blank lines, then the last sections."""
        sections = self._sections(width)
        while sum(map(len, sections)) > height and len(sections) > 3:
            sections.pop()
        blank_lines = height - sum(map(len, sections))
        lines: list[Content] = []
        for number, section in enumerate(filter(None, sections)):
            if 0 < number <= blank_lines:
                lines.append(Content(""))
            lines += section
        return lines

    def _sections(self, width: int) -> list[Section]:
        last = self.last
        if last is None:
            why = paragraph(self.no_draft or "", width, "$text-warning")
            return [[*why, *paragraph(NO_FIGURES, width)]]
        summary = outlook(last, self.no_draft)
        gain = paragraph(f"{summary.gain}." if summary.gain else "", width, HUES[summary.saves])
        return [
            [*gain, *paragraph(summary.why, width), *paragraph(summary.doing, width)],
            _speed(last, self.rates, summary, width),
            _acceptance(last, width),
            paragraph(constraint_figures(last.stats), width) if last.stats.masked_rows else [],
            _positions(last.stats.positions, width),
            _sources(last, width),
            _times(last, width),
            _context(last, self.n_ctx, width),
        ]


def _acceptance(last: Decoded, width: int) -> Section:
    rate = last.stats.acceptance_rate
    right = MISSING if rate is None else f"{rate:.0%} of {last.stats.tested:,}"
    return [
        pair("Tokens per round", f"{last.stats.tokens_per_eval:.2f}", width),
        pair("Guesses right", right, width),
        pair("Guesses in the last round", str(last.lookahead), width),
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


def _sources(last: Decoded, width: int) -> Section:
    section: Section = []
    for source, tally in last.stats.sources.items():
        if tally.rate is not None and source != "form":  # tokens of a constraint are no guesses
            name, value = SOURCES.get(source, safe(source)), f"{tally.rate:.0%} of {tally.tested:,}"
            rate = bar(tally.rate, width - len(name) - len(value) - 3)
            section.append(pair(Content.assemble(f"{name} ", (rate, "$success")), value, width))
    return section


def _speed(last: Decoded, rates: Iterable[float], summary: Outlook, width: int) -> Section:
    section = [pair("Tokens per second", f"{last.stats.tokens_per_s:.1f}", width)]
    if newest := [*rates][-width:]:
        section.append(Content.styled(sparkline(newest), "$primary"))
    if summary.plain_tokens_per_s is not None:
        estimate = f"{summary.plain_tokens_per_s:.1f}"
        section.append(pair("Without guesses, estimated", estimate, width))
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


def _context(last: Decoded, n_ctx: int, width: int) -> Section:
    used = last.context_used
    if not n_ctx:
        return []
    hue = "bold $text-warning" if used / n_ctx > NEARLY_FULL else "bold"
    return [pair("Context", Content.styled(f"{used:,} of {n_ctx:,}", hue), width)]
