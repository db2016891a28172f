"""The view of a lane, and the scoreboard of all lanes."""

from collections.abc import Sequence

from textual import on
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from assistant.events import Decoded, Failed, Ready, Step
from tui.chat.conversation.thought import Thought
from tui.formatting import bar
from tui.labels import model_name
from tui.race.recorded import HEADERS, RecordedLane, table
from tui.safe import safe
from tui.text.text_view import TextView

GAP = "  "
MIN_BAR, MAX_BAR = 6, 48
BAR = "tokens/s"
"""The title of the bars."""


class LaneView(VerticalScroll):
    """Show the text of a lane at a moment, with its models and its clock on the frame."""

    DEFAULT_CSS = """
    LaneView {
        padding: 0 1; border: round $primary; background: $background;
        border-title-color: $foreground; border-title-background: $background;
        border-subtitle-color: $text-muted; border-subtitle-background: $background;

        &:focus { border: heavy $accent; }
        & .all { height: auto; min-height: 100%; }  /* a short text stays at the top */
        &.speculates:blur { border: round $success; }
        & .warnings { color: $text-warning; height: auto; display: none; }
    }
    """

    def __init__(self, recorded: RecordedLane) -> None:
        self._warnings = Static("", classes="warnings", markup=False)
        self._thought = Thought("", None, is_streaming=True)
        self.tokens = TextView(is_streaming=False)
        parts = Vertical(self._warnings, self._thought, self.tokens, classes="all")
        super().__init__(parts, classes="" if recorded.lane.mode == "ars" else "speculates")
        self._shown_events = 0  # events shown so far
        self._state: tuple[object, ...] = ()  # the values that the frame shows
        self._lane = recorded

    def on_mount(self) -> None:
        """Follow the text until the user scrolls."""
        self.anchor()

    def show(self, lane: RecordedLane) -> None:
        """Show the lane at a moment, adding the events since the last call."""
        if len(lane.lane_events) < self._shown_events:
            self._shown_events = 0
            self._thought.clear()
            self.tokens.show(())
            self.anchor()
        for lane_event in lane.lane_events[self._shown_events :]:
            if isinstance(lane_event.event, Decoded):
                step = Step(lane_event.event.tokens, lane_event.event.rejected)
                if (thought := step.part("thought")).tokens:
                    self._thought.add(thought)
                self.tokens.add(step.part("answer"))
                if step.text.strip():
                    self._thought.set_streaming(False)
        self._shown_events = len(lane.lane_events)
        stats = lane.stats
        if stats:
            self._thought.show_stats(stats)
        if lane.has_ended:
            self._thought.set_streaming(False)
        is_writing = stats is not None and not lane.has_ended
        if is_writing is not self.tokens.is_streaming:
            self.tokens.set_streaming(is_writing)
        self._lane = lane
        self._update_frame()

    @on(Resize)
    def _update_frame(self) -> None:
        """Update the models, the clock and the warnings if they have changed."""
        lane = self._lane
        notices = safe("\n".join(lane.notices))
        state = lane.ready, lane.clock, lane.status, notices, self.size.width
        if state == self._state:
            return
        self._state = state
        self._warnings.update(notices)
        self._warnings.display = bool(notices)
        hue = "primary" if lane.lane.mode == "ars" else "success"
        chip = Content.styled(f" {safe(lane.lane.name)} ", f"bold $text-{hue} on ${hue}-muted")
        models = Content.styled(_model_names(lane.ready), "$foreground-muted")
        fits = chip.cell_length + models.cell_length <= self.size.width - 2
        self.border_title = Content.assemble(chip, models if fits else "")
        parts = [lane.status, f"{lane.clock:.1f} s"]
        self.border_subtitle = Content(f" {' · '.join(filter(None, parts))} ")


def _model_names(ready: Ready | Failed | None) -> str:
    if not isinstance(ready, Ready):
        return ""
    answers = model_name(ready.target.name)
    guesses = model_name(ready.draft.name) if ready.draft else ""
    others = " ".join(word for word in guesses.split() if word not in answers.split())
    return safe(f" {answers} ⇠ {others or guesses} " if guesses else f" {answers} ")


class Scoreboard(Widget):
    """Show a row of figures for each lane, and its speed as a bar."""

    DEFAULT_CSS = """
    Scoreboard { height: auto; margin: 1 0 0 0; padding: 0 3; text-wrap: nowrap; }
    """

    lanes: reactive[Sequence[RecordedLane]] = reactive((), always_update=True)
    """The lanes, which are the same objects while they run."""

    def render(self) -> Content:
        """Draw the header and a row for each lane, with the columns that fit."""
        lanes, width = self.lanes, self.content_size.width
        columns = len(HEADERS)
        while columns > 2 and len(GAP.join(table(lanes, columns)[0])) > width:
            columns -= 1
        header, *rows = (GAP.join(row) for row in table(lanes, columns))
        cells = min(width - len(header) - len(GAP), MAX_BAR)
        best = max((lane.tokens_per_s for lane in lanes), default=0.0)
        shows_bars = cells >= MIN_BAR and best > 0
        title = f"{header}{GAP}{BAR}" if shows_bars else header
        lines = [Content.styled(title, "$foreground-muted")]
        for lane, row in zip(lanes, rows, strict=True):
            is_fastest = best > 0 and lane.tokens_per_s == best
            line = Content.styled(safe(row), "bold" if is_fastest else "")
            if shows_bars:
                hue = "$primary" if lane.lane.mode == "ars" else "$success"
                line += Content.styled(GAP + bar(lane.tokens_per_s / best, cells), hue)
            lines.append(line)
        return Content("\n").join(lines)
