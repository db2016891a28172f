"""The lanes of a race, side by side where there is room, each framed by its models and clock."""

from collections.abc import Sequence

from textual.containers import Grid
from textual.content import Content
from textual.widgets import Static

from assistant.events import Failed, LaneEvent, Ready
from assistant.request import Lane
from tui.chat.conversation.thought import Thought
from tui.race.track import LaneStanding, Track
from tui.safe import safe
from tui.widgets.pane import Pane

MIN_LANE_WIDTH = 26
"""Cells that a lane needs beside another one."""
MIN_STACKING_HEIGHT = 14
"""Lines of the screen below which there is no room for lanes on top of each other."""


class LaneView(Pane):
    """Show a track up to the moment it is played to."""

    DEFAULT_CSS = """
    LaneView {
        &.speculates { border: round $success 60%; }
        &:focus { border: round $accent; }
        & .said { color: $text-warning; height: auto; display: none; }
    }
    """

    def __init__(self, track: Track) -> None:
        mode = track.standing.lane.mode
        self._said = Static("", classes="said", markup=False)
        self._thought = Thought("", None, growing=True)
        super().__init__(self._said, self._thought, classes="" if mode == "ars" else "speculates")
        self.track = track
        self._state = (False, 0.0, "")  # what is shown: whether it writes, its clock, its notices
        self.border_title = self._title()

    def line_up(self, ready: Ready | Failed) -> None:
        """Say which models the lane has, or why it does not start."""
        self.track.line_up(ready)
        self.border_title = self._title()
        self.refresh_state()

    def advance(self, until: float) -> None:
        """Play the track on to that moment."""
        for step in self.track.play(until):
            if (thought := step.part("thought")).tokens:
                self._thought.add(thought)
            self.tokens.add(step.part("answer"))
            if step.text.strip():
                self._thought.grow(False)
        if self.track.standing.stats:
            self._thought.tell(self.track.standing.stats)
        if self.track.standing.over:
            self._thought.grow(False)
        self.refresh_state()

    def rewind(self) -> None:
        """Begin again."""
        self.track.rewind()
        self._thought.forget()
        self.tokens.show(())
        self.anchor()
        self.refresh_state()

    def refresh_state(self) -> None:
        """Show how far the lane has come, where that has changed."""
        standing, notices = self.track.standing, safe("\n".join(self.track.notices))
        writing = standing.stats is not None and not standing.over
        if (writing, standing.clock, notices) == self._state:
            return
        if writing is not self._state[0]:
            self.tokens.grow(writing)
        if notices != self._state[2]:
            self._said.update(notices)
            self._said.display = bool(notices)
        self._state = writing, standing.clock, notices
        parts = [standing.doing, f"{standing.clock:.1f} s"]
        self.border_subtitle = Content(f" {' · '.join(filter(None, parts))} ")

    def _title(self) -> Content:
        lane, ready = self.track.standing.lane, self.track.ready
        hue = "primary" if lane.mode == "ars" else "success"
        chip = Content.styled(f" {safe(lane.name)} ", f"bold $text-{hue} on ${hue}-muted")
        return chip + Content.styled(_models(ready), "$foreground 60%") if ready else chip


def _models(ready: Ready) -> str:
    draft = f" ⇠ {ready.draft.name}" if ready.draft else ""
    return safe(f" {ready.target.name}{draft} ")


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
        even = [n for n in range(1, count + 1) if count % n == 0 and width // n >= MIN_LANE_WIDTH]
        low = self.screen.size.height < MIN_STACKING_HEIGHT
        self.styles.grid_size_columns = count if low else max(even, default=1)

    def line_up(self, lanes: Sequence[Ready | Failed]) -> None:
        """Say which models the lanes have, or why one does not start."""
        for view, ready in zip(self.views, lanes, strict=True):
            view.line_up(ready)

    def record(self, lap: LaneEvent) -> None:
        """Keep an event, to be shown."""
        self.tracks[lap.lane].record(lap)

    def advance(self, until: float) -> None:
        """Show what the lanes say up to a moment of their own clocks."""
        for view in self.views:
            view.advance(until)

    def rewind(self) -> None:
        """Begin again."""
        for view in self.views:
            view.rewind()

    def toggle_ghosts(self) -> bool:
        """Show the drafts that were rejected, or hide them; return which."""
        shown = not self.views[0].tokens.ghosts
        for view in self.views:
            view.tokens.ghosts = shown
        return shown
