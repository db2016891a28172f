"""Keep a reader's place while content above changes its height."""

from textual.containers import VerticalScroll
from textual.timer import Timer
from textual.widget import Widget

SETTLED = 1.0
"""Seconds within which a text that is shown another way has its new height."""


class ScrollAnchor:
    """Stay at the line that is being read."""

    def __init__(self, view: VerticalScroll) -> None:
        self._view = view
        self._read: tuple[Widget, int] | None = None  # what is at the top, and lines of it above
        self._share: float | None = None  # the part of it above, while it is changing
        self._settling: Timer | None = None
        self.returning = False
        """Whether it scrolls by itself just now."""

    def hold(self) -> None:
        """Go by the share of what is read, not by lines: its lines are about to change."""
        if self._read is not None and self._share is None:
            child, lines = self._read
            self._share = lines / max(1, child.virtual_region.height)
            self._settling = self._view.set_timer(SETTLED, self.settle)

    def settle(self) -> None:
        """Note what is being read."""
        if self._settling is not None:
            self._settling.stop()
        self._share = self._read = self._settling = None
        top = self._view.scroll_y
        for child in self._view.children:
            region = child.virtual_region
            if child.display and not child.styles.is_docked and region.bottom > top:
                self._read = child, int(top) - region.y
                return

    def restore(self) -> None:
        """Come back to what was being read after a layout has moved it."""
        if self._read is None or not self._read[0].is_attached:
            return
        child, lines = self._read
        region = child.virtual_region
        y = region.y + (lines if self._share is None else round(self._share * region.height))
        if region and abs(y - self._view.scroll_y) >= 1:
            self.returning = True
            self._view.app.animator.force_stop_animation(self._view, "scroll_y")
            self._view.scroll_to(y=y, animate=False, immediate=True, force=True)
            self.returning = False
