"""`specchat race` as a shell sees it."""

import json
from pathlib import Path

from assistant.events import Failed, LaneEvent, Loading, Prefilled, Prepared, RaceReady
from tests.tui.race import race_recorded
from tests.tui.shell.program import run
from tui.race import command
from tui.race.recorded import RecordedRace
from tui.shell.engine_console import EngineConsole

# Heat makes the text of a random model vary; more of it would end some answers.
WARM = ("--temperature", "4", "--top-k", "0", "--top-p", "1", "--seed", "5")
RACE = ("race", *WARM, "--threads", "1", "--ctx", "512", "--max-tokens", "30")


def test_scoreboard_goes_to_standard_output_without_colour(target: Path, draft: Path) -> None:
    code, out, err = run(*RACE, "--target", target, "--draft", draft, "Who is faster?")
    assert code == 0
    header, ars, sps, _, verdict = out.splitlines()
    assert header.split()[:2] == ["tokens/s", "speed"]
    assert ars.split()[:2] == ["without", "guesses"]
    assert sps.split()[:2] == ["with", "guesses"]
    assert verdict.startswith("With guesses: ")
    assert "\x1b" not in out + err


def test_progress_says_what_the_lanes_wait_for(monkeypatch) -> None:
    console, shown = EngineConsole(), list[str]()
    monkeypatch.setattr(console, "show_progress", shown.append)
    lane = LaneEvent(1, 0.1, Prefilled("target", 256, 1024))
    over = LaneEvent(1, 0.2, Prepared(9, 0, 0))

    def handled(job: object, handle, stoppable: bool) -> None:
        begun = RaceReady((Failed("", ""), Failed("", "")))
        for event in (Loading("target", "tiny", 0.4), begun, lane, over):
            handle(event)

    monkeypatch.setattr(console, "run", handled)
    command.run(RecordedRace(race_recorded.RACE), console)
    assert shown == [
        "loading tiny",
        "tokens so far: without guesses 0, with guesses 0",
        "reading the prompt (with guesses): 256 of 1,024 tokens",
        "tokens so far: without guesses 0, with guesses 0",
    ]


def test_json_has_every_lane_and_its_figures_agree(target: Path, draft: Path) -> None:
    models = ("--target", target, "--draft", draft)
    code, out, _ = run(*RACE, *models, "--lanes", "ars,sps=2,auto", "--json", "Who is faster?")
    assert code == 0
    report = json.loads(out)
    assert set(report) == {"prompt", "lanes", "verdict", "sampling", "seed"}
    ars, sps, auto = report["lanes"]
    names = [lane["name"] for lane in (ars, sps, auto)]
    assert names == ["without guesses", "with 2 guesses", "guesses auto"]
    assert (ars["ratio"], ars["draft"], ars["stats"]["drafted"]) == (1, None, 0)
    assert sps["stats"]["drafted"] > 0
    assert sps["ratio"] == sps["stats"]["tokens_per_s"] / ars["stats"]["tokens_per_s"]
    for lane in report["lanes"]:
        assert lane["stats"]["mode"] == lane["mode"]
        assert lane["stop"] == "length"
        assert lane["stats"]["generated_tokens"] == 30
        assert 0 < lane["stats"]["decode_s"] <= lane["compute_s"]
    assert report["prompt"] == "Who is faster?"
