"""The lanes of a race, side by side where there is room."""

from collections.abc import Sequence

from textual.containers import Grid

from assistant.events import Failed, Lap, Ready
from assistant.request import Lane
from tui.race.lane_view import LaneView
from tui.race.track import LaneStanding, Track

NARROWEST = 26
"""Cells that a lane needs beside another one."""
LOWEST = 14
"""Lines of the screen below which there is no room for lanes on top of each other."""


class Lanes(Grid):
    """Keep what every lane says, and show it up to any moment."""

    DEFAULT_CSS = """
    Lanes { width: 100%; height: 1fr; padding: 0 1; grid-gutter: 0 1; }
    """

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self.tracks = [Track(lane) for lane in lanes]
        self.views = [LaneView(track) for track in self.tracks]
        super().__init__(*self.views)

    @property
    def standings(self) -> list[LaneStanding]:
        """How far every lane has come."""
        return [track.standing for track in self.tracks]

    @property
    def lengths(self) -> list[float]:
        """How long every lane has computed in all, in seconds."""
        return [track.length for track in self.tracks]

    def on_resize(self) -> None:
        """Put the lanes side by side where there is room, or no other way."""
        count, width = len(self.views), self.size.width
        even = [n for n in range(1, count + 1) if count % n == 0 and width // n >= NARROWEST]
        low = self.screen.size.height < LOWEST
        self.styles.grid_size_columns = count if low else max(even, default=1)

    def line_up(self, lanes: Sequence[Ready | Failed]) -> None:
        """Say which models the lanes have, or why one does not start."""
        for track, view, ready in zip(self.tracks, self.views, lanes, strict=True):
            track.line_up(ready)
            view.line_up()

    def record(self, lap: Lap) -> None:
        """Keep an event, to be shown."""
        self.tracks[lap.lane].record(lap)

    def advance(self, until: float) -> None:
        """Show what the lanes say up to a moment of their own clocks."""
        for view in self.views:
            view.advance(until)

    def rewind(self) -> None:
        """Begin anew."""
        for view in self.views:
            view.rewind()

    def toggle_ghosts(self) -> bool:
        """Show the drafts that were rejected, or hide them; return which."""
        shown = not self.views[0].tokens.ghosts
        for view in self.views:
            view.tokens.ghosts = shown
        return shown
