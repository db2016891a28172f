"""Keeping a reader's place while what is above it changes its height."""

from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.timer import Timer
from textual.widget import Widget

from tui.chat.conversation.turn import Turn

SETTLED = 1.0
"""Seconds within which a text that is shown another way has its new height."""


class Steady(VerticalScroll):
    """Follow the end while it is in sight; else stay at the line that is being read."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._read: tuple[Widget, int] | None = None  # what is at the top, and lines of it above
        self._share: float | None = None  # the part of it above, while it is changing
        self._settling: Timer | None = None
        self.returning = False
        """Whether it scrolls by itself just now."""

    @property
    def follows(self) -> bool:
        """Whether the end stays in sight, whatever is added."""
        return self.is_anchored and not self._anchor_released

    def hold(self) -> None:
        """Go by the share of what is read, not by lines: its lines are about to change."""
        if self._read is not None and self._share is None and not self.follows:
            child, lines = self._read
            self._share = lines / max(1, child.virtual_region.height)
            self._settling = self.set_timer(SETTLED, self.settle)

    def settle(self) -> None:
        """Note what is being read."""
        if self._settling is not None:
            self._settling.stop()
        self._share = self._read = self._settling = None
        for child in self.children:
            region = child.virtual_region
            if child.display and not child.styles.is_docked and region.bottom > self.scroll_y:
                self._read = child, int(self.scroll_y) - region.y
                return

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Note where the reader goes."""
        super().watch_scroll_y(old, new)
        if not self.returning:
            self.settle()

    def watch_virtual_size(self, old: Size, new: Size) -> None:
        """Come back to what was being read after a layout has moved it."""
        if self.follows or self._read is None or not self._read[0].is_attached:
            return
        child, lines = self._read
        region = child.virtual_region
        y = region.y + (lines if self._share is None else round(self._share * region.height))
        if region and abs(y - self.scroll_y) >= 1:
            self.returning = True
            self.app.animator.force_stop_animation(self, "scroll_y")
            self.scroll_to(y=y, animate=False, immediate=True, force=True)
            self.returning = False

    def reveal(self, turn: Turn, direction: int) -> None:
        """Bring a turn into sight: of a long one the end when going up, else its beginning."""
        region, height = turn.virtual_region, self.scrollable_content_region.height
        if region.height <= height:
            self.scroll_to_widget(turn, animate=False, immediate=True)
        else:
            y = region.bottom - height if direction < 0 else region.y
            self.scroll_to(y=y, animate=False, immediate=True)

    def goes_on(self, turn: Turn, direction: int) -> bool:
        """Return whether a turn has lines out of sight in a direction."""
        region, height = turn.virtual_region, self.scrollable_content_region.height
        if direction < 0:
            return region.y < self.scroll_y
        return region.bottom > self.scroll_y + height
