"""The panel of figures: what guesses bring, and how fast answers come."""

from collections import deque
from collections.abc import Callable, Sequence

from textual.content import Content
from textual.events import Resize
from textual.message import Message
from textual.reactive import reactive

from assistant.events import Decoded, Ready
from assistant.store.values import Attachment
from tui.chat.panel.panel_text import PanelFigures, lines, paragraph
from tui.widgets.lines import Lines

WIDTH = 40
WIDE = 120
"""Cells of the screen from which on the panel shows unless it is unwanted."""
PERIOD_S = 0.25
"""Decoding time that one rate stands for."""
EXPLAINED = "Figures come with the next answer."


class Speculation(Lines):
    """Show the figures of the answer under way, or of the last one."""

    DEFAULT_CSS = f"""
    Speculation {{
        dock: right; width: {WIDTH}; max-width: 50%; height: 1fr; padding: 1 1 0 2;
        background: $surface;
    }}
    """

    class Turned(Message):
        """The panel came or went."""

    wanted: reactive[bool | None] = reactive[bool | None](None, init=False)
    """Whether the user asked for it, or closed it; None: where there are figures and room."""

    def __init__(self, is_crowded: Callable[[], bool] = lambda: False) -> None:
        super().__init__(id="speculation")
        self._is_crowded = is_crowded
        self.can_focus = False
        self._ready: Ready | None = None
        self.no_draft: str | None = None
        """Why no model guesses, if none does."""
        self.last: Decoded | None = None
        """The last round of the answer, with what it was planned by."""
        self.copied: Sequence[Attachment] = ()
        """The passages that were copied from last."""
        self._rates: deque[float] = deque(maxlen=WIDTH)  # tokens a second, until now
        self._since = (0.0, 0)  # seconds and tokens when the last of them was taken

    def on_mount(self) -> None:
        """Come and go with the width of the screen."""
        self.screen.screen_layout_refresh_signal.subscribe(self, lambda _: self.fit())
        self.fit()

    def ready(self, ready: Ready) -> None:
        """Begin with other models."""
        self._ready = ready
        self.clear()

    def take(self, decoded: Decoded) -> None:
        """Take one round, to be shown by `paint`."""
        last = self.last
        if last is not None and decoded.stats.rounds == last.stats.rounds:  # text held back
            plan = last.lookahead, decoded.context_used, decoded.stats, last.forecast
            decoded = Decoded(decoded.tokens, decoded.rejected, *plan)
        elif last is not None and decoded.stats.rounds < last.stats.rounds:  # another answer
            self._forget()
        self.last = decoded
        self.fit()
        seconds, tokens = decoded.stats.decode_s, decoded.stats.generated_tokens
        began, counted = self._since
        if seconds - began >= PERIOD_S:
            self._rates.append((tokens - counted) / (seconds - began))
            self._since = seconds, tokens

    def clear(self) -> None:
        """Forget the last answer and explain what will be seen."""
        self._forget()
        self.fit()
        self.paint()

    def _forget(self) -> None:
        self.last, self.copied = None, ()
        self._rates.clear()
        self._since = (0.0, 0)

    def toggle(self) -> None:
        """Open or close the panel, whatever the width."""
        self.wanted = not self.display

    def fit(self) -> None:
        """Show the panel when it is wanted, or when there are figures and room for it."""
        if self.is_attached:
            has_room = self.screen.size.width >= WIDE and self.last is not None
            shown = (has_room if self.wanted is None else self.wanted) and not self._is_crowded()
            if shown != self.display:
                self.display = shown
                self.post_message(self.Turned())
                self.call_after_refresh(self.paint)

    def watch_wanted(self) -> None:
        """Obey the user."""
        self.fit()

    def on_resize(self, event: Resize) -> None:
        """Lay the lines out for the new size."""
        super().on_resize(event)
        self.paint()

    def paint(self) -> None:
        """Show what was taken."""
        if not (self.display and self.is_mounted):
            return
        if self.last is None:
            self.put(self._explained(self.room))
            return
        n_ctx = self._ready.target.n_ctx if self._ready else 0
        figures = PanelFigures(self.last, [*self._rates], n_ctx, self.no_draft, self.copied)
        self.put(lines(figures, self.room, self.size.height))

    def _explained(self, width: int) -> list[Content]:
        why = paragraph(self.no_draft or "", width, "$text-warning")
        return [*why, *paragraph(EXPLAINED, width)]
