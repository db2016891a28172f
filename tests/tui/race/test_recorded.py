"""A recorded race: its lanes at a moment, and the verdict at its end."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.app import App
from textual.widgets import Static

from assistant.events import Decoded, Failed, Finished, LaneEvent, Origin, Stats, Stop, Token
from assistant.request import EngineArgs, Lane, Mode, Request, Sampling
from tests.tui.race.race_recorded import RACE
from tui.race.lane_view import LaneView
from tui.race.recorded import RecordedLane, beats_first, verdict


def standing(
    name: str,
    mode: Mode,
    tokens_per_s: float,
    text: str = "The same.",
    tokens: int = 100,
    target: str = "target.gguf",
) -> RecordedLane:
    drafted = 0 if mode == "ars" else tokens
    rounds = tokens if mode == "ars" else tokens // 2
    decode_s = tokens / tokens_per_s
    stats = Stats(mode, rounds=rounds, drafted=drafted, generated_tokens=tokens, decode_s=decode_s)
    lane = Lane(name, EngineArgs(Path(target)), mode)
    return RecordedLane(lane, [LaneEvent(0, 1.0, Finished(text, (), Stop.LENGTH, stats))])


ARS = standing("without guesses", "ars", 10.0)
FAILED = RecordedLane(Lane("auto", EngineArgs(Path("x")), "auto"), ready=Failed("No.", ""))
GREEDY = Request((), Sampling(temperature=0), seed=7)


SAMPLED = Request((), seed=7)
BIG = standing("F16 without guesses", "ars", 5.0, "Another.", target="big.gguf")
WELL = standing("without guesses", "ars", 10.0, "It begins alike and ends well today.")
WET = standing("with guesses", "sps", 12.0, "It begins alike and ends wet tomorrow.")
SHORT = standing("without guesses", "ars", 10.0, "abc")
LONG = standing("with guesses", "sps", 12.0, "abcdef")
SAME = "Both wrote the same text."


@pytest.mark.parametrize(
    ("lanes", "request_", "won", "end"),
    [
        (
            [ARS, standing("with guesses", "sps", 14.3)], GREEDY,
            "With guesses: 1.43 times as fast as without, 14.3 against 10.0 tokens/s.", SAME,
        ),
        ([ARS, standing("with guesses", "sps", 8.0)], GREEDY, "With guesses: 0.80 times", SAME),
        (
            [ARS, standing("with guesses", "sps", 9.8)], GREEDY,
            "With guesses: about as fast as", SAME,
        ),
        (
            [WELL, WET], GREEDY, "With guesses: 1.20",
            "Both wrote the same text up to character 27.",
        ),
        ([SHORT, LONG], GREEDY, "With guesses: 1.20", "as far as the shorter one goes."),
        ([ARS, LONG], SAMPLED, "With guesses: 1.20", "The seed was 7."),
        ([ARS, BIG], GREEDY, "F16 without guesses: 0.50 times as fast as without, 5.0 against", ""),
        (
            [BIG, ARS, standing("with guesses", "sps", 15.0)], GREEDY,
            "Fastest: with guesses, with 15.0 tokens/s, 1.50 times as fast as without guesses and "
            "3.00 times as fast as F16 without guesses.",
            "without guesses and with guesses wrote the same text.",
        ),
        ([ARS, standing("with guesses", "sps", 99.0, tokens=5)], GREEDY, "Too little", ""),
        (
            [ARS, standing("with guesses", "sps", 12.0), FAILED], GREEDY, "With guesses: 1.20",
            f"The lane auto did not run. {SAME}",
        ),
    ],
)  # fmt: skip
def test_the_outcome_is_told_with_its_factor_and_then_what_was_written(lanes, request_, won, end):
    outcome = verdict(lanes, request_)
    assert outcome[0].startswith(won)
    assert outcome[1].endswith(end)
    assert max(map(len, outcome[:1])) <= 73 or BIG in lanes  # a line of 80 cells, with its margins


def test_speculation_pays_only_where_it_was_clearly_fastest():
    assert beats_first([ARS, standing("with guesses", "sps", 12.0)])
    assert not beats_first([ARS, standing("with guesses", "sps", 10.1)])
    assert not beats_first([ARS, standing("with guesses", "sps", 8.0)])


THOUGHT = Token(1, "Hm, the sky is blue. ", Origin.TARGET, None, 1.0, None, part="thought")
ANSWER = replace(THOUGHT, text="It scatters.", part="answer")
FIGURES = Stats("ars", generated_tokens=9, decode_s=3.0, thought_tokens=7, thought_s=2.0)


def recorded(complete: bool = True) -> RecordedLane:
    lane = RecordedLane(RACE.lanes[0])
    for clock, tokens in ((1.0, (THOUGHT,)), (2.0, (ANSWER,))):
        lane.lane_events.append(LaneEvent(0, clock, Decoded(tokens, (), 0, 9, FIGURES)))
    end = Finished(ANSWER.text, (), Stop.LENGTH, FIGURES, complete)
    lane.lane_events.append(LaneEvent(0, 3.0, end))
    return lane


async def test_a_thought_is_one_line_over_the_answer_and_gone_when_the_lane_begins_again() -> None:
    lane = recorded()
    view = LaneView(lane)
    async with App[None]().run_test(size=(60, 12)) as pilot:
        await pilot.app.mount(view)

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
    for complete, status in ((True, "cut at the length limit"), (False, "form incomplete")):
        lane = recorded(complete)
        assert lane.status == status
        assert bool(lane.failure) is not complete
