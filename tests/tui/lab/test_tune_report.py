"""What a tuning found, in words."""

from dataclasses import replace
from pathlib import Path

import pytest

from assistant.engine.engine_choice import EngineChoice, EngineFigures
from assistant.lab.protocol import SettingTrial, Tuned
from tui.lab.tune import lines

LOSER = SettingTrial("flash attention off", "target", {1: 1.05, 8: 1.25}, 1.1456)
WINNER = SettingTrial("threads: 6", "target", {1: 0.9}, 0.9, is_used=True)
NOTED = SettingTrial("threads: 64", "draft", note="It does not work.")
FIGURES = EngineFigures(0.01, {1: 0.04, 4: 0.072})
TUNED = Tuned(
    (Path("/t.gguf"), Path("/d.gguf")),
    (LOSER,),
    True,
    {width: 0.04 + 0.01 * (width - 1) for width in range(1, 33)},
    {1: 0.02, 8: 0.07},
    EngineChoice("ik", "It is faster.", {"llama": FIGURES, "ik": FIGURES}),
)


def text(**change) -> str:
    return "\n".join(lines(replace(TUNED, **change)))


def rows(**change) -> dict[str, list[str]]:
    split = [line.split() for line in text(**change).splitlines()]
    return {cells[0]: cells[1:] for cells in split if cells}


def test_each_engine_that_was_tried_is_told_with_its_figures_and_why_one_is_used():
    assert "engine  ik_llama.cpp. It is faster." in text()
    for name in ("llama.cpp", "ik_llama.cpp"):
        line = f"{name} reads 100 tokens/s, evaluates in ms by tokens at once 1: 40.0, 4: 72.0"
        assert f"        {line}" in text()


def test_widths_are_told_in_milliseconds_and_as_ratios_to_one_token():
    assert rows()["8"] == ["110.0", "ms", "2.75", "70.0", "ms", "3.50"]
    assert rows()["16"] == ["190.0", "ms", "4.75"]


def test_a_lookahead_says_from_which_rate_it_pays_and_what_it_brings():
    # 1 + a + a² + a³ = 3.25 at 0.86; at 0.8 it is 2.95 tokens in 130 ms, or 70 without steps.
    assert rows()["3"] == ["0.86", "0.91", "×", "0.45", "1.69", "×"]
    assert "never" in text(draft={1: 0.2})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "flash attention off"),
        ({}, " 1.15  (1: 1.05, 8: 1.25)"),
        ({}, "25.0 tokens/s without speculation"),
        ({"trials": (NOTED,)}, "draft   threads: 64: not measured. It does not work."),
    ],
)
def test_what_was_found_is_said(change, said):
    assert said in text(**change)


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
def test_the_verdict_comes_last(change, said):
    assert text(**change).endswith(said)


def test_a_target_alone_has_no_draft_in_its_tables():
    alone = rows(paths=(Path("/t.gguf"),), draft={})
    assert "draft" not in alone
    assert alone["3"] == ["0.45", "1.69", "×"]
