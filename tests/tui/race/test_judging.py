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


def test_faster_is_told_with_its_factor_and_its_reason():
    said = verdict([ARS, standing("SpS", "sps", 14.3)], GREEDY)
    assert said == (
        "SpS was 1.43 times as fast as ArS: 14.3 against 10.0 tokens/s, "
        "with 2.00 tokens per evaluation. Both wrote the same text."
    )


def test_slower_is_told_as_plainly():
    said = verdict([ARS, standing("SpS", "sps", 8.0)], GREEDY)
    assert said.startswith("SpS was slower, at 0.80 times the speed of ArS: 8.0 against 10.0")
    assert "Speculation did not pay here." in said


def test_difference_below_what_the_clock_can_tell_is_none():
    for speed in (9.8, 10.2):
        assert verdict([ARS, standing("SpS", "sps", speed)], GREEDY).startswith(
            "SpS was as fast as ArS"
        )


def test_texts_that_part_are_quoted_where_they_do():
    one = standing("ArS", "ars", 10.0, "It begins alike and ends well today.")
    other = standing("SpS", "sps", 12.0, "It begins alike and ends wet tomorrow.")
    assert verdict([one, other], GREEDY).endswith(
        "Both wrote the same text up to character 27: “wet tomorrow.” for “well today.”."
    )


def test_text_that_is_shorter_is_the_same_as_far_as_it_goes():
    one, other = standing("ArS", "ars", 10.0, "abc"), standing("SpS", "sps", 12.0, "abcdef")
    assert verdict([one, other], GREEDY).endswith("as far as the shorter one goes.")


def test_seed_of_sampled_texts_is_told():
    said = verdict([ARS, standing("SpS", "sps", 12.0)], Request((), seed=7))
    assert said.endswith("Both wrote the same text. The lanes used the same seed, 7.")
    assert "seed" not in verdict([ARS, ARS], GREEDY)


def test_texts_of_different_weights_are_not_compared():
    other = standing("F16 ArS", "ars", 5.0, "Another.", target="big.gguf")
    assert "text" not in verdict([ARS, other], GREEDY)


def test_three_lanes_are_ranked_and_those_of_the_same_weights_compared():
    big = standing("F16 ArS", "ars", 5.0, "Another.", target="big.gguf")
    said = verdict([big, ARS, standing("SpS", "sps", 15.0)], GREEDY)
    assert said == (
        "SpS was fastest with 15.0 tokens/s, 1.50 times as fast as ArS and 3.00 times as fast as "
        "F16 ArS, with 2.00 tokens per evaluation. ArS and SpS wrote the same text."
    )


@pytest.mark.parametrize("tokens", [0, 5])
def test_nothing_is_concluded_from_a_few_tokens(tokens):
    said = verdict([ARS, standing("SpS", "sps", 99.0, tokens=tokens)], GREEDY)
    assert "too little to compare" in said


def test_failed_lane_is_named_and_the_others_are_compared():
    failed = RecordedLane(Lane("auto", Setup(Path("x")), "auto"), ready=Failed("No.", "ModelError"))
    said = verdict([ARS, standing("SpS", "sps", 12.0), failed], GREEDY)
    assert said.startswith("auto did not run. SpS was 1.20 times as fast")


def test_speculation_pays_only_where_it_was_clearly_fastest():
    assert pays([ARS, standing("SpS", "sps", 12.0)])
    assert not pays([ARS, standing("SpS", "sps", 10.1)])
    assert not pays([ARS, standing("SpS", "sps", 8.0)])
