"""The race screen, by its keys, on real models."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual.pilot import Pilot

from assistant.events import (
    Event,
    Failed,
    Finished,
    LaneEvent,
    Loading,
    Prefilled,
    Prepared,
    RaceOver,
    RaceReady,
    Stop,
)
from assistant.request import EngineArgs, Message, Race, Request
from tests.tui.chat.chat_driver import HOT, TINY, Watched
from tests.tui.driver import Driver
from tui.race.lane_view import LaneView
from tui.race.lanes import parse, prepare_race, race_ars_and_sps
from tui.race.screen import RaceApp
from tui.safe import safe
from tui.text.text_view import TextView
from tui.widgets.keyline import KeyLine

SETTINGS = replace(TINY, max_tokens=40)


class Course(Driver):
    """A race under test, and its engine."""

    def __init__(self, pilot: Pilot[None], app: RaceApp) -> None:
        super().__init__(pilot)
        self.app, self.screen = app, app.race

    @property
    def engine(self) -> Watched:
        assert isinstance(self.app._engine, Watched)
        return self.app._engine

    async def over(self) -> None:
        """Skip the replay when it comes, and wait for the outcome."""
        self.engine.go_on.set()
        await self.until(lambda: self.engine.received(RaceOver) and self.phase != "racing")
        await self.pilot.press("s")
        await self.until(lambda: self.phase == "over" and "outcome" in self.screen.line.classes)
        views = self.screen.query(TextView)
        await self.until(lambda: not any(view._waiting for view in views))  # all is painted

    @property
    def ends(self) -> list[Finished]:
        """How each lane ended."""
        lane_events = sorted(self.engine.received(LaneEvent), key=lambda lap: lap.lane)
        return [lap.event for lap in lane_events if isinstance(lap.event, Finished)]

    @property
    def phase(self) -> str:
        return self.screen.phase

    @property
    def line(self) -> str:
        return str(self.screen.line.render())

    def texts(self) -> list[str]:
        views = self.screen.query(LaneView).results(LaneView)
        shown = [view.query_one(TextView).lines for view in views]
        return ["".join(line.content.plain for line in lines) for lines in shown]

    def offered(self) -> set[str]:
        """What the footer offers."""
        line = self.screen.query_one(KeyLine)
        return {active.binding.description for active in line.active_keys()}


@pytest.fixture
def race(target: Path, draft: Path) -> Race:
    setup = EngineArgs(target, draft, n_ctx=512, threads=1)
    question = (Message("user", "Who is faster?"),)
    request = Request(question, HOT, max_tokens=SETTINGS.max_tokens, seed=SETTINGS.seed)
    return race_ars_and_sps(setup, SETTINGS, request)


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The world's clock, moved by the test: a tiny race takes no time worth watching."""
    hands = SimpleNamespace(now=0.0)
    monkeypatch.setattr("tui.race.screen.monotonic", lambda: hands.now)
    return hands


@asynccontextmanager
async def racing(
    race: Race, size: tuple[int, int] = (80, 24), hold: tuple[type[Event], int] | None = None
) -> AsyncIterator[Course]:
    app = RaceApp(race, SETTINGS)
    app._engine = Watched(hold=hold)
    async with app.run_test(size=size) as pilot:
        yield Course(pilot, app)


async def test_lanes_show_what_the_engine_said_in_each_and_on_demand_its_wrong_guesses(
    race: Race,
) -> None:
    async with racing(race) as course:
        await course.over()
        # Lines break at spaces.
        texts = sorted("".join(safe(end.text).split()) for end in course.ends)
        assert len(texts) == 2
        await course.until(lambda: sorted("".join(t.split()) for t in course.texts()) == texts)
        plain = course.texts()
        await course.pilot.press("g")
        await course.until(lambda: len(course.texts()[1]) > len(plain[1]))
        assert course.texts()[0] == plain[0]
        await course.until(lambda: "wrong guess" in course.screen.head.legend.plain)
        await course.pilot.press("g")
        await course.until(lambda: course.texts() == plain)


async def test_the_line_shows_what_is_loaded_then_how_far_the_prompt_is_read(race: Race) -> None:
    async with racing(race, hold=(LaneEvent, 1)) as course:
        screen = course.screen
        await course.until(lambda: course.phase == "racing")
        for event, text in (
            (Loading("target", "tiny.gguf", 0.4), " 40%  loading tiny"),
            (RaceReady((Failed("", ""), Failed("", ""))), "The lanes take turns"),
            (LaneEvent(1, 0.1, Prefilled("target", 256, 1024)), "25%  reading the prompt (with"),
            (LaneEvent(0, 0.1, Prepared(9, 0, 0)), "guesses): 256 of 1,024 tokens"),
            (LaneEvent(1, 0.2, Prepared(9, 0, 0)), "The lanes take turns"),
        ):
            screen.show(event)
            screen._update()
            assert text in course.line


async def test_lanes_take_turns_until_escape_stops_them_and_then_closes(race: Race) -> None:
    long = replace(race, request=replace(race.request, max_tokens=400))  # neither is over so soon
    async with racing(long, hold=(LaneEvent, 30)) as course:
        await course.until(lambda: course.engine.held and course.phase == "racing")
        await course.until(lambda: "take turns" in course.line)
        assert course.offered() >= {"Stop"}
        assert not course.offered() & {"Close", "Replay", "Skip"}
        await course.pilot.press("escape")
        assert "Stop" not in course.offered()
        course.engine.go_on.set()
        await course.until(lambda: course.phase == "over")
        assert [end.stop for end in course.ends] == [Stop.CANCELLED] * 2
        assert any(course.texts())
        assert {"Close", "Replay"} <= course.offered()
        await course.pilot.press("escape")
        await course.until(lambda: course.app._exit)


async def test_replay_shows_every_lane_at_its_own_speed_until_escape_ends_it(
    race: Race, hands: SimpleNamespace
) -> None:
    async with racing(race) as course:
        await course.over()
        whole = course.texts()
        await course.pilot.press("r")
        assert {"Skip", "Stop"} <= course.offered()
        length = course.screen.recorded.length
        for share in (0.3, 0.6, 0.9):
            hands.now = share * length
            await course.until(lambda: course.screen.replayed_s == pytest.approx(hands.now))
            lanes = [lane.until(hands.now) for lane in course.screen.recorded.lanes]
            for number, lane in enumerate(lanes):
                seen = [each for each in course.engine.received(LaneEvent) if each.lane == number]
                past = [each.event for each in seen if each.clock <= hands.now]
                counted = [event.stats for event in past if hasattr(event, "stats")]
                assert lane.stats == (counted[-1] if counted else None)
                assert lane.clock == min(hands.now, seen[-1].clock)
        assert course.phase == "replay"
        assert "true speed" in course.line
        hands.now = length + 1
        await course.until(lambda: course.phase == "over")
        await course.until(lambda: course.texts() == whole)
        await course.pilot.press("r")
        assert course.phase == "replay"
        await course.pilot.press("escape")
        await course.until(lambda: course.phase == "over")
        assert "Replay" in course.offered()
        assert not course.app._exit


async def test_lane_that_fails_says_why_and_the_other_goes_on(race: Race, tmp_path: Path) -> None:
    other = tmp_path / "misfit.gguf"
    other.write_bytes(b"GGUF nonsense")
    sps = replace(race.lanes[1], setup=replace(race.lanes[1].setup, draft=other))
    lanes = (race.lanes[0], sps, race.lanes[1])
    alone = replace(race.request, sources=("model",))  # or the conversation itself would propose
    async with racing(replace(race, lanes=lanes, request=alone)) as course:
        await course.over()
        said = [str(widget.render()) for widget in course.screen.query(".warnings")]
        assert "misfit.gguf" in said[1]
        assert said[0] == said[2] == ""
        assert "The lane with guesses did not run." in course.line
        assert len([text for text in course.texts() if text]) == 2


async def test_lanes_name_their_models_where_there_is_room_also_later(race: Race) -> None:
    async with racing(race, size=(60, 24)) as course:
        await course.over()
        second = course.screen.views[1]
        for width, named in ((120, True), (60, False)):
            await course.pilot.resize_terminal(width, 24)
            await course.until(lambda: ("⇠" in str(second.border_title)) is named)  # noqa: B023


async def test_race_that_cannot_start_says_why(race: Race, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF and nothing else")
    lanes = tuple(replace(lane, setup=EngineArgs(broken)) for lane in race.lanes)
    async with racing(replace(race, lanes=lanes)) as course:
        await course.until(lambda: "broken.gguf" in course.line)
        assert course.phase == "over"
        assert "Replay" not in course.offered()
        await course.pilot.press("escape")
        await course.until(lambda: course.app._exit)


@pytest.mark.parametrize(
    ("size", "lanes", "columns"),
    [
        ((80, 24), 2, 2), ((80, 24), 3, 3), ((80, 24), 4, 2), ((70, 24), 3, 1), ((200, 60), 4, 4),
        ((40, 20), 2, 1), ((40, 10), 2, 2), ((10, 3), 2, 2), ((1, 1), 2, 2),
    ],
)  # fmt: skip
@pytest.mark.some(4)
async def test_lanes_are_side_by_side_where_they_fit(
    target: Path, draft: Path, size: tuple[int, int], lanes: int, columns: int
) -> None:
    spec = ",".join(["ars", "sps", "sps=1", "auto"][:lanes])
    settings = replace(SETTINGS, target=str(target), draft=str(draft))
    async with racing(prepare_race(parse(spec), settings, "Who?"), size=size) as course:
        await course.over()
        tops = {view.region.y for view in course.screen.views}
        assert len(tops) == lanes // columns
        await course.pilot.press("r", "space", "g", "s")
        await course.until(lambda: course.phase == "over")
