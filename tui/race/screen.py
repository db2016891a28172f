"""The screen of a race: lanes side by side, and their replay at true speed."""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from assistant.events import Event, Failed, Origin, RaceOver, RaceReady
from assistant.request import Race
from assistant.service import EventStream
from assistant.settings.settings import Settings
from tui.app.program import Program
from tui.chat.status import activity_parts
from tui.formatting import gauge
from tui.race.lane_view import LaneView, Scoreboard
from tui.race.recorded import RecordedLane, RecordedRace, beats_first, turns_sentence, verdict
from tui.safe import safe
from tui.text.text_view import TextView
from tui.text.token_styles import legend, styles
from tui.widgets.dialog import ClosedOnce
from tui.widgets.keyline import KeyLine
from tui.widgets.lines import Head

MIN_LANE_WIDTH = 26  # cells that a lane needs beside another one
MIN_STACKING_HEIGHT = 14
"""Lines below which lanes are not stacked."""
UPDATE_EVERY_S = 1 / 20  # seconds between two updates
REPLAY_FROM = 0.5  # seconds of computing below which nothing is replayed
GAUGE = 10
REPLAY = "Replay at true speed, each as if alone."

Phase = Literal["loading", "racing", "replay", "over"]


class RaceScreen(ClosedOnce[None]):
    """Run a race, show it, and replay it as if each lane had the machine to itself."""

    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    RaceScreen {
        & > Head { max-height: 3; padding: 0 1; background: $panel; color: $foreground; }
        & #race-prompt {
            height: auto; max-height: 3; margin: 1 2; padding: 0 1;
            border-left: outer $primary; background: $boost; text-style: bold;
        }
        & Grid { width: 100%; height: 1fr; padding: 0 1; grid-gutter: 0 1; }
        & #race-line {
            height: auto; min-height: 2; margin: 1 2 0 2; padding: 0 1;
            border-left: outer $border-blurred; color: $text-muted;

            &.outcome { border-left: outer $primary; color: $foreground; }
            &.outcome.won { border-left: outer $success; color: $text-success; }
            &.outcome.failed { border-left: outer $error; color: $text-error; }
        }
        &.-tall Footer { margin: 1 0 0 0; }
        &.-narrow > Head, &.-tiny > Head { max-height: 1; }
        &.-short #race-prompt {
            max-height: 1; margin: 0 2; text-wrap: nowrap; text-overflow: ellipsis;
        }
        &.-short Scoreboard { margin: 0; }
        &.-short #race-line { max-height: 3; margin: 0 2; }
        &.-tiny #race-prompt, &.-tiny Scoreboard { display: none; }
        &.-tiny #race-line { min-height: 1; max-height: 1; margin: 0; }
    }
    """
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (MIN_STACKING_HEIGHT, "-short"), (26, "-tall")]  # noqa: RUF012
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (72, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", id="race.stop"),
        Binding("escape", "dismiss", "Close", id="race.close"),
        Binding("s", "skip", "Skip", id="race.skip"),
        Binding("r", "replay", "Replay", id="race.replay"),
        Binding("g", "ghosts", "Wrong guesses", id="race.ghosts"),
        Binding("f1", "app.help", "Help", id="race.help"),
    ]

    phase: reactive[Phase] = reactive[Phase]("loading", init=False)
    """What is shown: loading, the race, the replay or the outcome."""

    def __init__(self, race: Race, submit: Callable[..., EventStream]) -> None:
        super().__init__()
        self.recorded, self._request, self._submit = RecordedRace(race), race.request, submit
        self.head = Head()
        self.head.line = Content.styled("specchat race", "bold $text-accent")
        self.views = [LaneView(lane) for lane in self.recorded.lanes]
        self.lanes, self.line = Grid(*self.views), Static(id="race-line", markup=False)
        self.board = Scoreboard()
        self.board.lanes = self.recorded.lanes
        self.replayed_s = 0.0
        """The moment of the replay, in seconds of the lanes' clocks."""
        self._updated_at = 0.0
        self._stream: EventStream | None = None
        self._is_stopping = False
        self._failure: str | None = None
        self._message = Content("")

    def compose(self) -> ComposeResult:
        """Lay out the prompt, the lanes, and the scoreboard below them."""
        yield self.head
        yield Static(safe(self._request.messages[-1].content), id="race-prompt", markup=False)
        yield self.lanes
        yield self.board
        yield self.line
        yield KeyLine()

    def on_mount(self) -> None:
        """Start the race, and update the screen regularly."""
        self._timer = self.set_interval(UPDATE_EVERY_S, self._update)
        self._update_legend()
        self._stream = self._submit(self.recorded.race, self.show)

    def on_resize(self) -> None:
        """Put the lanes side by side if they fit, or if the screen is too low to stack them."""
        count, width = len(self.views), self.size.width - 2
        fitting = (n for n in range(1, count + 1) if not count % n and width >= n * MIN_LANE_WIDTH)
        is_low = self.size.height < MIN_STACKING_HEIGHT
        self.lanes.styles.grid_size_columns = count if is_low else max(fitting, default=1)

    def show(self, event: Event) -> None:
        """Record an event; the next update shows it."""
        self.recorded.add(event)
        match event:
            case RaceReady():
                self.phase = "racing"
            case RaceOver():
                ran = [lane.clock > REPLAY_FROM for lane in self.recorded.lanes]
                if self._is_stopping or ran.count(True) < 2:  # nothing to replay
                    self.phase = "over"
                else:
                    self.action_replay()
            case Failed(message):
                self._failure = message
                self.phase = "over"

    def watch_phase(self) -> None:
        """Refresh the keys, and resume the updates."""
        self._timer.resume()
        self.refresh_bindings()

    def _update(self) -> None:
        """Show the lanes; a replay advances by the time since the last update."""
        now = monotonic()
        self.replayed_s = min(self.replayed_s + now - self._updated_at, self.recorded.length)
        self._updated_at = now
        is_replay = self.phase == "replay"
        lanes = [lane.until(self.replayed_s) if is_replay else lane for lane in self.recorded.lanes]
        for view, lane in zip(self.views, lanes, strict=True):
            view.show(lane)
        self.board.lanes = lanes
        self._show_message(lanes)
        if is_replay and self.replayed_s >= self.recorded.length:
            self.phase = "over"
        elif self.phase == "over":
            self._timer.pause()  # nothing changes any more

    def _show_message(self, lanes: Sequence[RecordedLane]) -> None:
        is_over, activity = self.phase == "over", self.recorded.activity
        match self.phase:
            case "loading" | "racing" if activity and not self._is_stopping:
                text = Content("  ").join(activity_parts(activity))
            case "loading":
                text = Content("Preparing the lanes.")
            case "racing":
                text = Content(safe("Stopping." if self._is_stopping else turns_sentence(lanes)))
            case "replay":
                bar = f"  {gauge(self.replayed_s / self.recorded.length, GAUGE)}"
                where = f"{bar}  {self.replayed_s:.1f} of {self.recorded.length:.1f} s"
                text = Content(REPLAY) + Content.styled(where, "$accent")
            case "over":
                texts = (self._failure, "") if self._failure else verdict(lanes, self._request)
                bold, rest = map(safe, texts)
                text = Content.assemble((bold, "bold"), (f"\n{rest}", "$foreground-muted"))
        self.line.set_class(is_over, "outcome")
        self.line.set_class(is_over and self._failure is not None, "failed")
        self.line.set_class(is_over and beats_first(lanes), "won")
        if not text.is_same(self._message):
            self._message = text
            self.line.update(text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the keys that have an effect in this phase."""
        is_running = self.phase in ("loading", "racing") and not self._is_stopping
        match action:
            case "stop":
                return is_running or self.phase == "replay"
            case "dismiss":
                return not is_running and self.phase != "replay"
            case "skip":
                return self.phase == "replay"
            case "replay":
                return self.phase == "over" and not self._failure and self.recorded.length > 0
        return True

    def action_stop(self) -> None:
        """Stop the lanes and keep their texts; or stop the replay."""
        if self.phase == "replay":
            self.action_skip()
        elif self._stream is not None:
            self._is_stopping = True
            self._stream.cancel()
        self.refresh_bindings()

    def action_replay(self) -> None:
        """Show the race again at true speed."""
        self.replayed_s, self._updated_at = 0.0, monotonic()
        self.phase = "replay"

    def action_skip(self) -> None:
        """Go to the end of the replay."""
        self.replayed_s = self.recorded.length

    def action_ghosts(self) -> None:
        """Show or hide wrong guesses."""
        wanted = not self.views[0].tokens.ghosts
        for view in self.views:
            view.tokens.ghosts = wanted

    @on(TextView.KindsChanged)
    def _update_legend(self) -> None:
        """Explain the styles of the tokens that the lanes show, and those that are usual."""
        kinds = {*Origin}.union(*(view.tokens.kinds for view in self.views))
        self.head.legend = legend(styles(self.app.no_color), kinds)


class RaceApp(Program):
    """The app of `specchat race`, which ends with its screen."""

    TITLE = "specchat race"

    def __init__(self, race: Race, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.race = RaceScreen(race, self.submit)

    def on_mount(self) -> None:
        """Open the race."""
        self.theme = self.settings.theme
        self.push_screen(self.race, lambda _: self.exit())

    async def on_unmount(self) -> None:
        """Free the models."""
        await self.close_engine()
