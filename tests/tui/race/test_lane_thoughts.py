"""Thoughts and unfinished answers in a lane."""

from dataclasses import replace

from textual.app import App, ComposeResult
from textual.widgets import Static

from assistant.events import Decoded, Finished, LaneEvent, Origin, Stats, Stop, Token
from tests.tui.race.race_recorded import RACE
from tui.race.lane_view import LaneView
from tui.race.recorded import RecordedLane

THOUGHT = Token(1, "Hm, the sky is blue. ", Origin.TARGET, None, 1.0, None, part="thought")
ANSWER = replace(THOUGHT, text="It scatters.", part="answer")
STATS = Stats("ars", generated_tokens=9, decode_s=3.0, thought_tokens=7, thought_s=2.0)


def recorded(complete: bool = True) -> RecordedLane:
    lane = RecordedLane(RACE.lanes[0])
    for clock, tokens in ((1.0, (THOUGHT,)), (2.0, (ANSWER,))):
        lane.laps.append(LaneEvent(0, clock, Decoded(tokens, (), 0, 9, STATS)))
    end = Finished(ANSWER.text, (), Stop.LENGTH, STATS, complete)
    lane.laps.append(LaneEvent(0, 3.0, end))
    return lane


async def test_a_thought_is_one_line_over_the_answer_and_gone_when_the_lane_begins_again() -> None:
    lane = recorded()
    view = LaneView(lane)

    class Framed(App[None]):
        def compose(self) -> ComposeResult:
            yield view

    async with Framed().run_test(size=(60, 12)) as pilot:

        async def seen() -> tuple[str, str]:
            await pilot.pause(0.1)
            line = view.query_one("Thought > Static", Static)
            shown = "\n".join(each.content.plain for each in view.tokens.lines)
            return str(line.render()) if view._thought.display else "", shown.rstrip("▍")

        view.show(lane.until(1.0))
        assert await seen() == ("▸ Thinking · 2 s · 7 tokens · …Hm, the sky is blue.", "")
        view.show(lane.until(9.0))
        assert await seen() == ("▸ Thought for 2 s · 7 tokens", "It scatters.")
        assert view.query_one("Thought").region.height == 1
        view.show(lane.until(0.5))
        assert await seen() == ("", "")


def test_a_lane_that_ends_in_mid_form_says_so() -> None:
    for complete, doing in ((True, "cut at the length limit"), (False, "form incomplete")):
        lane = recorded(complete)
        assert lane.doing == doing
        assert bool(lane.failure) is not complete
