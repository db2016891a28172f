"""What a tuning found, in words."""

from dataclasses import replace
from pathlib import Path

import pytest

from assistant.engine.engine_choice import EngineChoice
from assistant.engine.engine_trial import EngineFigures
from assistant.lab.protocol import Depth, Payoff, RateOutlook, SettingTrial, Tuned
from assistant.request import Tuning
from tui.lab.tune import lines

NEAR = Depth(
    16,
    {1: 0.040, 2: 0.060, 4: 0.072},
    {1: 0.020, 8: 0.070},
    (Payoff(1, None, 0.5), Payoff(3, 0.9512, 0.345)),
    (RateOutlook(0.6, "draft", 0, 1.0), RateOutlook(0.8, "copying", 3, 1.6444)),
)
LOSER = SettingTrial("flash attention off", "target", {1: 1.05, 8: 1.25}, 1.1456)
WINNER = SettingTrial("threads: 6", "target", {1: 0.9}, 0.9, is_used=True)
FILE = SettingTrial("/here/other-q8_0.gguf", "file", {1: 1.5}, 1.5, speedup=0.9)
NOTED = replace(FILE, ratios={}, ratio=None, speedup=None, note="It takes 9.0 GB.")
FIGURES = EngineFigures(0.01, {1: 0.04, 4: 0.072})
ENGINE = EngineChoice("ik", "It is faster.", {"llama": FIGURES, "ik": FIGURES})
TUNED = Tuned(
    (Path("/t.gguf"), Path("/d.gguf")), (Tuning(), Tuning()), (LOSER,), True, (NEAR,), ENGINE
)


def text(tuned: Tuned) -> str:
    return "\n".join(lines(tuned))


def test_each_engine_that_was_tried_is_told_with_its_figures_and_why_one_is_used():
    said = text(TUNED)
    assert "engine  ik_llama.cpp. It is faster." in said
    for name in ("llama.cpp", "ik_llama.cpp"):
        line = f"{name} reads 100 tokens/s, evaluates in ms by tokens at once 1: 40.0, 4: 72.0"
        assert f"        {line}" in said


def test_widths_are_told_in_milliseconds_and_as_ratios_to_one_token_each_depth_beside_the_other():
    deep = replace(NEAR, tokens=1024, verify={1: 0.05, 2: 0.08, 4: 0.12})
    both = replace(TUNED, depths=(NEAR, deep))
    near, wide = (
        next(line.split() for line in lines(tuned) if line.split()[:1] == ["4"])
        for tuned in (TUNED, both)
    )
    assert near == ["4", "72.0", "ms", "1.80"]
    assert wide == [*near, "120.0", "ms", "2.40"]


def test_break_evens_are_rates_or_never() -> None:
    rows = {line.split()[0]: line.split()[1:] for line in lines(TUNED) if line.split()}
    assert rows["3"] == ["0.95", "0.34"]
    assert "never" in text(TUNED)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "flash attention off"),
        ({}, " 1.15  (1: 1.05, 8: 1.25)"),
        ({}, "25.0 tokens/s without speculation"),
        ({}, "A step of the draft takes 0.50 of that."),
        ({}, "drafted text accepted at 60% does not pay."),
        ({}, "copied text accepted at 80% makes it 1.64 times as fast (lookahead 3)."),
        ({"trials": (FILE,)}, "no gain"),
        ({"trials": (replace(FILE, speedup=1.2),)}, "--target /here/other-q8_0.gguf"),
        ({"trials": (NOTED,)}, "other-q8_0.gguf: not measured. It takes 9.0 GB."),
    ],
)
def test_what_was_found_is_said_and_what_it_means(change, said) -> None:
    assert said in text(replace(TUNED, **change))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "they stay."),
        ({"trials": (LOSER, WINNER)}, "with target: threads: 6."),
        (
            {"trials": (WINNER,), "is_kept": False},
            "nothing of this was kept. Run it again when nothing else is running.",
        ),
    ],
)
def test_the_verdict_comes_last(change, said) -> None:
    assert text(replace(TUNED, **change)).endswith(said)


def test_a_target_alone_has_no_draft_in_its_tables() -> None:
    alone = replace(NEAR, draft={}, outlooks=NEAR.outlooks[1:], payoffs=(Payoff(1, None, 0.5),))
    said = text(replace(TUNED, paths=(Path("/t.gguf"),), tunings=(Tuning(),), depths=(alone,)))
    assert "step of the draft" not in said
