"""One lane of a race: its text as it streams, framed by who says it and for how long."""

from textual.content import Content
from textual.widgets import Static

from assistant.events import Ready
from tui.race.track import Track
from tui.safe import safe
from tui.widgets.pane import Pane


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
        super().__init__(self._said, classes="" if mode == "ars" else "speculates")
        self.track = track
        self._state = (False, 0.0, "")  # what is shown: whether it writes, its clock, its notices
        self.border_title = self._title()

    def line_up(self) -> None:
        """Say which models the lane has."""
        self.border_title = self._title()
        self.refresh_state()

    def advance(self, until: float) -> None:
        """Play the track on to that moment."""
        for step in self.track.play(until):
            self.tokens.add(step)
        self.refresh_state()

    def rewind(self) -> None:
        """Begin anew."""
        self.track.rewind()
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
