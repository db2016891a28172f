"""The race: the same prompt in lanes side by side, and once more at true speed."""

from math import inf
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import Static

from assistant.events import Event, Failed, LaneEvent, Loading, RaceOver, RaceReady
from assistant.request import Race
from assistant.service import EventStream, Submit
from tui.race.lane_view import MIN_STACKING_HEIGHT, Lanes
from tui.race.scoreboard import Board, PhaseLine
from tui.race.track import ReplayClock
from tui.safe import safe
from tui.widgets.keyline import KeyLine
from tui.widgets.token_styles import BASICS, GHOST, legend, styles

LOOK_EVERY_S = 1 / 20
"""Seconds between two looks at what there is to show."""
REPLAY_FROM = 0.5
"""Seconds of computing that are worth being shown again unasked."""

Phase = Literal["loading", "racing", "replay", "over"]


class RaceScreen(Screen[None]):
    """Have a race run, show it, and show it again as if each lane had the machine to itself."""

    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    RaceScreen {
        & #race-head {
            height: 1; padding: 0 1; background: $panel;

            & .name { width: auto; color: $text-accent; text-style: bold; }
            & .legend { width: 1fr; text-align: right; text-wrap: nowrap; }
        }
        & #race-prompt {
            height: auto; max-height: 3; margin: 1 2; padding: 0 1;
            border-left: outer $primary; background: $boost; text-style: bold;
        }
        & Footer { margin: 1 0 0 0; }
        &.-narrow .legend { display: none; }
        &.-short #race-prompt {
            max-height: 1; margin: 0 2; text-wrap: nowrap; text-overflow: ellipsis;
        }
        &.-short Board { margin: 0; }
        &.-short PhaseLine { max-height: 3; margin: 0 2; }
        &.-short Footer { margin: 0; }
        &.-tiny #race-prompt, &.-tiny Board { display: none; }
        &.-tiny PhaseLine { min-height: 1; max-height: 1; margin: 0; }
        &.-tiny Footer { margin: 0; }
    }
    """
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-tiny"),
        (MIN_STACKING_HEIGHT, "-short"),
        (26, "-tall"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (72, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", id="race.stop"),
        Binding("escape", "close", "Close", id="race.close"),
        Binding("space", "pause", "Pause", id="race.pause"),
        Binding("s", "skip", "Skip", id="race.skip"),
        Binding("r", "replay", "Replay", id="race.replay"),
        Binding("g", "ghosts", "Rejected", id="race.ghosts"),
        Binding("f1", "app.help", "Help", id="race.help"),
    ]

    phase: reactive[Phase] = reactive[Phase]("loading", init=False)
    """What is shown: the lanes being loaded, computing, being replayed, or the outcome."""

    def __init__(self, race: Race, submit: Submit) -> None:
        super().__init__()
        self.race, self._submit = race, submit
        self.legend = Static(classes="legend", markup=False)
        self.lanes, self.line = Lanes(race.lanes), PhaseLine()
        self.board = Board(self.lanes.standings)
        self.replay = ReplayClock(0.0)
        self._stream: EventStream | None = None
        self._stopping = False
        self._failed: str | None = None
        self._loading = ("getting ready", 0.0)

    def compose(self) -> ComposeResult:
        """Lay out the prompt, the lanes, and the scoreboard below them."""
        with Horizontal(id="race-head"):
            yield Static("specchat race", classes="name", markup=False)
            yield self.legend
        yield Static(safe(self.race.request.messages[-1].content), id="race-prompt", markup=False)
        yield self.lanes
        yield self.board
        yield self.line
        yield KeyLine()

    def on_mount(self) -> None:
        """Have the race run, and look regularly at what there is to show."""
        self._timer = self.set_interval(LOOK_EVERY_S, self._look)
        self._explain(ghosts=False)
        self._stream = self._submit(self.race, self.show)

    def show(self, event: Event | None) -> None:
        """Take what the engine says; it is on the screen at the next look."""
        match event:
            case Loading(role, name, fraction):
                verb = "loading" if fraction < 1 else "preparing"
                self._loading = (f"{verb} the {role} {name}", fraction)
            case RaceReady(lanes):
                self.lanes.line_up(lanes)
                self.phase = "racing"
            case LaneEvent():
                self.lanes.record(event)
            case RaceOver():
                self._finish()
            case Failed(message):
                self._failed = message
                self.phase = "over"

    def _finish(self) -> None:
        """Show the race again, unless the user has had enough of it."""
        said = [length > REPLAY_FROM for length in self.lanes.lengths]
        if self._stopping or said.count(True) < 2:
            self.phase = "over"
        else:
            self.action_replay()

    def watch_phase(self) -> None:
        """Show the keys that are of use now."""
        self._timer.resume()
        self.refresh_bindings()

    def _look(self) -> None:
        until = self.replay.tick() if self.phase == "replay" else inf
        self.lanes.advance(until)
        self.board.show(self.lanes.standings)
        self._say()
        if self.phase == "replay" and self.replay.over:
            self.phase = "over"
        elif self.phase == "over":
            self._timer.pause()  # nothing moves any more

    def _say(self) -> None:
        match self.phase:
            case "loading":
                self.line.preparing(*self._loading)
            case "racing":
                self.line.racing(self.lanes.standings, self._stopping)
            case "replay":
                self.line.replaying(self.replay)
            case "over" if self._failed is not None:
                self.line.failed(self._failed)
            case "over":
                self.line.outcome(self.lanes.standings, self.race.request)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the keys that do something now."""
        running = self.phase in ("loading", "racing") and not self._stopping
        match action:
            case "stop":
                return running or self.phase == "replay"
            case "close":
                return not running and self.phase != "replay"
            case "pause" | "skip":
                return self.phase == "replay"
            case "replay":
                return self.phase == "over" and self._failed is None
        return True

    def action_stop(self) -> None:
        """Stop the lanes and keep what they said; or stop the replay."""
        if self.phase == "replay":
            self.action_skip()
        elif self._stream is not None:
            self._stopping = True
            self._stream.cancel()
        self.refresh_bindings()

    def action_close(self) -> None:
        """Leave the race."""
        self.dismiss()

    def action_replay(self) -> None:
        """Show the race again at true speed."""
        self.replay = ReplayClock(max(self.lanes.lengths))
        self.lanes.rewind()
        self.phase = "replay"

    def action_pause(self) -> None:
        """Hold the replay, or let it go on."""
        self.replay.toggle()

    def action_skip(self) -> None:
        """Go to the end of the replay."""
        self.replay.skip()

    def action_ghosts(self) -> None:
        """Show the drafts that were rejected, struck through, or hide them."""
        self._explain(self.lanes.toggle_ghosts())

    def _explain(self, ghosts: bool) -> None:
        """Explain the styles of the tokens, that of rejected drafts too where they are shown."""
        kinds = (*BASICS, GHOST) if ghosts else BASICS
        self.legend.update(legend(styles(self.app.no_color), kinds))
