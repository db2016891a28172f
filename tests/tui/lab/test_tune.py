"""`specchat tune` as a shell sees it, and its report."""

import json
from dataclasses import replace
from pathlib import Path

from assistant.engine.engine_choice import EngineChoice, EngineFigures
from assistant.lab.protocol import Tuned
from models.engines import ENGINES
from tests import tiny
from tests.tui.shell.program import endless, run, run_until
from tui.lab.tune import report

TUNE = ("tune", "--threads", "1")
ENDLESS = endless("tui.shell.engine_console", "EngineConsole.run")


def test_json_has_the_curves_and_what_was_tried(target: Path, draft: Path, home: Path) -> None:
    code, out, err = run(*TUNE, "--target", target, "--draft", draft, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["paths"] == [str(target), str(draft)]
    assert found["verify"].keys() >= {"1", "2", "4", "8", "32"}
    assert found["draft"]["1"] > 0
    assert found["engine"]["engine"] in ENGINES
    assert "measuring the cost curves" in err
    assert "left" in err
    assert not found["is_kept"] or (home / "cache" / "profiles.json").exists()


def test_interrupt_ends_it_with_130_and_leaves_nothing(tmp_path: Path, home: Path) -> None:
    # It is measured for so long that it is never between two runs.
    slow = tiny.write(tmp_path / "slow.gguf", n_ctx=8192, layers=96, stops=False)
    command = (*TUNE, "--target", slow, "--draft", "none")
    code, out, _ = run_until("measuring", *command, first=ENDLESS)
    assert (code, out) == (130, "")
    assert not list(home.rglob("*.json*"))


FIGURES = EngineFigures(0.01, {1: 0.04, 4: 0.072})
TUNED = Tuned(
    (Path("/t.gguf"), Path("/d.gguf")),
    True,
    {width: 0.04 + 0.01 * (width - 1) for width in range(1, 33)},
    {1: 0.02, 8: 0.07},
    EngineChoice("ik", "It is faster.", {"llama": FIGURES, "ik": FIGURES}),
)


def text(**change) -> str:
    return "\n".join(report(replace(TUNED, **change)))


def cells(line: str, **change) -> list[str]:
    """Return what stands in the first line of the report that begins so, without its bar."""
    found = next(each for each in text(**change).splitlines() if each.strip().startswith(line))
    return found.strip().removeprefix(line).rstrip("━╸ ").split()


def test_each_engine_that_was_tried_has_its_figures_and_one_a_reason():
    assert "engine  ik_llama.cpp. It is faster." in text()
    for name in ("llama.cpp", "ik_llama.cpp"):
        assert cells(f"{name}  ") == ["100", "25.0", "5.4"]


def test_widths_are_told_in_milliseconds_and_as_ratios_to_one_token():
    assert cells("8  ") == ["110.0", "2.75", "70.0", "3.50"]
    assert cells("16  ") == ["190.0", "4.75", "–", "–"]


def test_a_lookahead_says_from_which_rate_it_pays_and_what_it_brings():
    # 1 + a + a² + a³ = 3.25 at 0.86; at 0.8 it is 2.95 tokens in 130 ms, or 70 without steps.
    assert cells("3  ") == ["0.86", "0.91", "0.45", "1.69"]
    assert cells("3  ", draft={1: 0.2})[0] == "never"
    assert cells("3  ", draft={}) == ["0.45", "1.69"]


def test_the_verdict_comes_last():
    assert text().endswith("25.0 tokens/s without speculation.")
    assert text(is_kept=False).endswith("again when nothing else is running.")
