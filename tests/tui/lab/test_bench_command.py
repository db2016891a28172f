"""`specchat bench` as a shell sees it."""

import json
from pathlib import Path
from typing import Any

import pytest

from assistant.lab.bench.plan import parse_systems
from assistant.lab.table import ResultTable
from assistant.settings.settings import Settings
from models.errors import ModelError
from tests import tiny
from tests.assistant.lab.bench.made import columns
from tests.tui.shell.program import endless, run, run_until
from tui.lab.bench_session import _setups

GREEDY = ("--temperature", "0", "--threads", "1", "--ctx", "2048")


@pytest.fixture
def pair(endless: Path, draft: Path) -> tuple[object, ...]:
    return ("--target", endless, "--draft", draft)


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    path = tmp_path / "asked.jsonl"
    rows = [
        {"question_id": i, "category": kind, "turns": [f"Tell me about <b>{kind}</b> & {i}."]}
        for i, kind in enumerate(["rivers", "rivers", "hills"])
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def done(*command) -> tuple[str, str]:
    """Return what a command that succeeds prints, on a terminal of 40 or of 80 columns."""
    columns = 40 if "--per-kind" in command else 80
    code, out, err = run(*command, env={"COLUMNS": str(columns)})
    assert code == 0, err
    assert "\x1b" not in out + err
    assert max(map(len, out.splitlines())) <= columns
    return out, err


def tables(path: Path) -> list[list[dict[str, Any]]]:
    """Return the rows of each table in a JSON file, by column."""
    tables = [ResultTable(**table) for table in json.loads(path.read_text())["tables"]]
    return [columns(table) for table in tables]


def test_prompts_compares_in_a_table_json_and_markdown(pair, asked: Path, tmp_path: Path) -> None:
    report = tmp_path / "out.json"
    few = ("--max-tokens", 12, "--systems", "ars,model=3,auto")
    command = ("bench", "prompts", asked, *pair, *GREEDY, *few)
    out, _ = done(*command, "--json", report)
    assert [line for line in out.splitlines() if line in ("rivers", "hills", "all")]
    assert "━" in out
    facts = json.loads(report.read_text())
    ratios = {(row["kind"], row["system"]): row["× ArS [95 %]"] for row in tables(report)[0]}
    assert ratios["all", "ars"] is None
    assert ratios["all", "auto"]["low"] <= ratios["all", "auto"]["value"]
    assert facts["files"]["target"]["size"] > 0
    assert facts["machine"]["processor"]
    assert facts["versions"]["llama-cpp-python"]
    assert facts["settings"]["systems"] == ["ars", "model=3", "auto"]
    accepted = {row["system"]: row["accepted"] for row in tables(report)[0] if row["kind"] == "all"}
    assert accepted["ars"] is None
    assert 0 <= accepted["model=3"] <= 1

    code, out, _ = run(*command, "--markdown", "--per-kind", 1)
    assert code == 0
    heading, _, names, rule, *rows = out.splitlines()
    assert heading == "### Speed by kind of prompt"
    assert names.count("|") == rule.count("|") == rows[0].count("|") == 9
    assert len([row for row in rows if row.startswith("| ")]) == 9


def test_infill_fills_gaps_with_every_system(tmp_path: Path) -> None:
    controls = (*tiny.CONTROLS, "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
    target = tiny.write(tmp_path / "fills.gguf", stops=False, n_ctx=2048, controls=controls)
    command = ("bench", "infill", "--target", target, "--per-kind", 1, *GREEDY)
    done(*command, "--json", tmp_path / "out.json")
    speeds, gaps = tables(tmp_path / "out.json")
    assert {row["kind"] for row in speeds} >= {"Python", "Go", "C", "shell", "all"}
    assert [row["system"] for row in gaps] == ["ars", "auto"]
    assert all(row["reading, s"] > 0 and row["suggestion, s"] > 0 for row in gaps)


def test_sweep_tells_each_lookahead(pair, asked: Path, tmp_path: Path) -> None:
    few, report = ("--lookaheads", "3,1", "--per-kind", 1), tmp_path / "out.json"
    done("--max-tokens", 16, "bench", "sweep", asked, *pair, *GREEDY, *few, "--json", report)
    assert json.loads(report.read_text())["settings"]["max_tokens"] == 16
    (steps,) = tables(report)
    assert [(row["task"], row["K"]) for row in steps] == [
        (kind, k) for kind in ("rivers", "hills") for k in "013"
    ]
    for row in steps:
        assert row["loop, ms"] > row["draft, ms"] >= 0
        assert (row["draft, ms"] > 0) == (row["K"] != "0")
        assert 0 < row["yield"] <= 1
    assert steps[0]["yield"] == 1


@pytest.mark.thorough
def test_paper_has_its_tables_with_this_pair(pair, tmp_path: Path) -> None:
    few = ("--max-tokens", 6, "--per-kind", 1, "--threads", "1", "--ctx", "2048")
    out, _ = done("bench", "paper", *pair, *few, "--json", tmp_path / "out.json")
    chen, sweep, alphas, speeds, weights = tables(tmp_path / "out.json")
    assert len({(row["task"], row["method"]) for row in chen}) == 8
    assert [row["K"] for row in sweep][:6] == ["0", "1", "2", "4", "6", "8"]
    drafts = {(row["task"], row["draft"]) for row in alphas}
    assert drafts >= {("code · greedy", "model"), ("summary · T=1", "random")}
    assert [row["K"] for row in speeds][:5] == ["1", "2", "4", "6", "8"]
    assert [row["weights and method"] for row in weights] == ["ars", "model=4", "auto"]
    assert "Leviathan et al. 2023, table 2" in out


def test_a_run_that_is_interrupted_shows_what_was_done(pair, asked: Path) -> None:
    few = ("--max-tokens", 40, "--systems", "ars,model=3")
    held = endless("tui.shell.engine_console", "EngineConsole.run", after=2)
    patch = "import tui.lab.bench_session\ntui.lab.bench_session.LINE_EVERY_S = 0\n"
    command = ("bench", "prompts", asked, *pair, *GREEDY, *few)
    code, out, err = run_until("3 of 3", *command, first=held + patch)
    assert code == 130
    assert "Cut short" in err
    assert [line for line in out.splitlines() if line in ("rivers", "hills")] == ["rivers"]


def test_a_system_whose_own_target_has_no_draft_says_why(bare_machine: Path) -> None:
    folder = bare_machine / "models"
    target = tiny.write(folder / "target.gguf", layers=12)
    least = tiny.write(folder / "least.gguf", layers=1)
    with pytest.raises(ModelError, match=r"model=3 needs a draft\. No smaller model here "):
        _setups(parse_systems(f"{least}:model=3"), Settings(target=str(target)))
