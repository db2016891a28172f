"""What is said at the end of a race."""

from pathlib import Path

import pytest

from assistant.events import Failed, Finished, LaneEvent, Stats, Stop
from assistant.request import Lane, Mode, Request, Sampling, Setup
from tui.race.recorded import RecordedLane
from tui.race.verdict import pays, verdict


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
    lane = Lane(name, Setup(Path(target)), mode)
    return RecordedLane(lane, [LaneEvent(0, 1.0, Finished(text, (), Stop.LENGTH, stats))])


ARS = standing("ArS", "ars", 10.0)
GREEDY = Request((), Sampling(temperature=0), seed=7)


SAMPLED = Request((), seed=7)
BIG = standing("F16 ArS", "ars", 5.0, "Another.", target="big.gguf")
WELL = standing("ArS", "ars", 10.0, "It begins alike and ends well today.")
WET = standing("SpS", "sps", 12.0, "It begins alike and ends wet tomorrow.")
SHORT, LONG = standing("ArS", "ars", 10.0, "abc"), standing("SpS", "sps", 12.0, "abcdef")
SAME = "Both wrote the same text."


@pytest.mark.parametrize(
    ("lanes", "request_", "beginning", "end"),
    [
        (
            [ARS, standing("SpS", "sps", 14.3)], GREEDY,
            "SpS was 1.43 times as fast as ArS: 14.3 against 10.0 tokens/s, "
            f"with 2.00 tokens per evaluation. {SAME}", SAME,
        ),
        (
            [ARS, standing("SpS", "sps", 8.0)], GREEDY,
            "SpS was slower, at 0.80 times the speed of ArS: 8.0 against 10.0",
            f"Speculation did not pay here. {SAME}",
        ),
        ([ARS, standing("SpS", "sps", 9.8)], GREEDY, "SpS was as fast as ArS", SAME),
        ([ARS, standing("SpS", "sps", 10.2)], GREEDY, "SpS was as fast as ArS", SAME),
        (
            [WELL, WET], GREEDY, "SpS was 1.20",
            "Both wrote the same text up to character 27: “wet tomorrow.” for “well today.”.",
        ),
        ([SHORT, LONG], GREEDY, "SpS was 1.20", "as far as the shorter one goes."),
        ([ARS, LONG], SAMPLED, "SpS was 1.20", "The lanes used the same seed, 7."),
        ([ARS, BIG], GREEDY, "F16 ArS was slower", "5.0 against 10.0 tokens/s."),
        (
            [BIG, ARS, standing("SpS", "sps", 15.0)], GREEDY,
            "SpS was fastest with 15.0 tokens/s, 1.50 times as fast as ArS and 3.00 times as fast "
            "as F16 ArS, with 2.00 tokens per evaluation.",
            "ArS and SpS wrote the same text.",
        ),
        ([ARS, standing("SpS", "sps", 99.0, tokens=5)], GREEDY, "The", "compare their speed."),
        ([ARS, standing("SpS", "sps", 99.0, tokens=0)], GREEDY, "The", "compare their speed."),
    ],
)  # fmt: skip
def test_the_outcome_is_told_with_its_factor_its_reason_and_what_was_written(
    lanes, request_, beginning, end
):
    said = verdict(lanes, request_)
    assert said.startswith(beginning)
    assert said.endswith(end)


def test_failed_lane_is_named_and_the_others_are_compared():
    failed = RecordedLane(Lane("auto", Setup(Path("x")), "auto"), ready=Failed("No.", "ModelError"))
    said = verdict([ARS, standing("SpS", "sps", 12.0), failed], GREEDY)
    assert said.startswith("auto did not run. SpS was 1.20 times as fast")


def test_speculation_pays_only_where_it_was_clearly_fastest():
    assert pays([ARS, standing("SpS", "sps", 12.0)])
    assert not pays([ARS, standing("SpS", "sps", 10.1)])
    assert not pays([ARS, standing("SpS", "sps", 8.0)])
