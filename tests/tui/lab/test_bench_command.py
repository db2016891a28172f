"""`specchat bench` as a shell sees it."""

import json
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from assistant.lab.bench.questions import DATA
from tests import tiny
from tests.patience import WAIT_S
from tests.tui.shell.program import ended, endless, start

GREEDY = ("--temperature", "0", "--threads", "1", "--ctx", "2048")


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[object, ...]:
    folder = tmp_path_factory.mktemp("pair")
    target = tiny.write(folder / "target.gguf", seed=0, stops=False, n_ctx=2048)
    draft = tiny.write(folder / "draft.gguf", seed=1, like=0, noise=0.4, stops=False, n_ctx=2048)
    return ("--target", target, "--draft", draft)


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
    """Return what a command that succeeds prints, on a terminal of 80 columns."""
    code, out, err = ended(*command)
    assert code == 0, err
    assert "\x1b" not in out + err
    assert max(map(len, out.splitlines())) <= 80
    return out, err


def check_page(text: str) -> None:
    page = ET.fromstring(re.sub("<!DOCTYPE html>|<meta [^>]*>", "", text))  # every tag has its end
    tags = {each.tag for each in page.iter()}
    assert "svg" in tags
    assert "script" not in tags
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"(src|href)\s*=|url\(|@import|https?://", text)


def test_prompts_compares_systems_in_a_table_json_and_a_page(
    pair, asked: Path, tmp_path: Path
) -> None:
    kept, report = tmp_path / "run.jsonl", tmp_path / "out.json"
    files = ("--json", report, "--html", tmp_path / "out.html", "--run", kept)
    systems = ("--systems", "ars,model=3,auto")
    out, _ = done("bench", "prompts", asked, *pair, *GREEDY, "--max-tokens", 12, *systems,
                         *files)  # fmt: skip
    assert [line for line in out.splitlines() if line in ("rivers", "hills", "all")]
    facts = json.loads((tmp_path / "out.json").read_text())
    ratios = {(each["kind"], each["system"]): each["ratio"] for each in facts["standings"]}
    assert ratios["all", "ars"] is None
    assert ratios["all", "auto"]["low"] <= ratios["all", "auto"]["value"]
    assert len(facts["answers"]) == 9
    stats = [each["stats"] for each in facts["answers"] if each["system"] == "model=3"]
    assert all(each["drafted"] for each in stats)
    texts = {each["text"] for each in facts["answers"] if each["question"] == "hills/2"}
    assert len(texts) == 1  # at temperature 0 a random model's answer is what it is
    assert facts["files"]["target"]["size"] > 0
    assert facts["machine"]["processor"]
    assert facts["versions"]["llama-cpp-python"]
    predicted = [each["predicted"] for each in facts["standings"] if each["system"] == "model=3"]
    assert all(each > 0 for each in predicted)
    check_page((tmp_path / "out.html").read_text())

    out, _ = done("bench", "compare", report, report, "--html", tmp_path / "two.html")
    assert "Both ran with the same settings." in out
    assert "1.00 [1.00, 1.00]" in out
    check_page((tmp_path / "two.html").read_text())

    out, _ = done("bench", "predict", kept, "--machine", "flat-gpu")
    assert out.splitlines()[1].split() == ["system", "here", "flat-gpu"]


def test_other_program_takes_part_in_the_same_run(pair, asked: Path, tmp_path: Path) -> None:
    fake = Path(__file__).parents[2] / "assistant" / "lab" / "bench" / "fake_server.py"
    program = tmp_path / "llama-server"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {fake} "$@"\n')
    program.chmod(0o755)
    few = ("--max-tokens", 6, "--per-kind", 1, "--systems", "ars,model=2")
    code, out, err = ended(
        "bench", "prompts", asked, *pair, *GREEDY, *few, "--llama-server", program
    )
    assert code == 0, err
    rows = [line.split() for line in out.splitlines()]
    speeds = {row[0]: row[1] for row in rows if row and row[0].startswith("llama-server")}
    # Six tokens in 60 ms, of which the first took none.
    assert speeds == {"llama-server*": "83.3", "llama-server=2*": "83.3"}
    assert "* answers one prompt after another" in " ".join(out.split())


def test_sweep_tells_each_lookahead(pair, asked: Path, tmp_path: Path) -> None:
    files = ("--json", tmp_path / "out.json", "--html", tmp_path / "out.html")
    few = ("--lookaheads", "3,1", "--max-tokens", 16, "--per-kind", 1)
    done("bench", "sweep", asked, *pair, *GREEDY, *few, *files)
    steps = json.loads((tmp_path / "out.json").read_text())["steps"]
    assert [(each["kind"], each["lookahead"]) for each in steps] == [
        (kind, k) for kind in ("rivers", "hills") for k in (0, 1, 3)
    ]
    for step in steps:
        assert step["loop_s"] > step["draft_s"] >= 0
        assert (step["draft_s"] > 0) == (step["lookahead"] > 0)
        assert 0 < step["yielded"] <= 1
    assert steps[0]["yielded"] == 1
    check_page((tmp_path / "out.html").read_text())


def paper(pair, tmp_path: Path) -> tuple[object, ...]:
    files = ("--json", tmp_path / "out.json", "--html", tmp_path / "out.html")
    few = ("--max-tokens", 6, "--per-kind", 1, "--threads", "1", "--ctx", "2048")
    return ("bench", "paper", *pair, *few, *files, "--run", tmp_path / "run.jsonl")


@pytest.mark.thorough
def test_paper_has_its_tables_with_this_pair(pair, tmp_path: Path) -> None:
    out, _ = done(*paper(pair, tmp_path))
    facts = json.loads((tmp_path / "out.json").read_text())
    methods = {(each["kind"], each["method"]) for each in facts["chen_table_1"]}
    assert len(methods) == 8
    drafts = {(each["kind"], each["draft"]) for each in facts["leviathan_table_3"]}
    assert drafts >= {("code · greedy", "model"), ("summary · T=1", "random")}
    assert [each["lookahead"] for each in facts["leviathan_table_2"]][:5] == [1, 2, 4, 6, 8]
    assert facts["operations_ratio"] == 1
    assert facts["bytes_per_s"] > 1e8
    assert "No other file of the target" in out
    said = " ".join(out.split())
    assert "At temperature 0 SpS K=4 gave the text of ArS in 2 of 2 answers" in said
    assert "Code was not run, so only its texts are compared" in said
    assert code_scores(facts) == [None] * 4
    check_page((tmp_path / "out.html").read_text())


@pytest.mark.thorough
def test_code_has_a_score_when_its_runner_ran_all_of_it(pair, tmp_path: Path) -> None:
    """The runner breaks after its first two programs: the check and one."""
    command = paper(pair, tmp_path)
    done(*command)
    runner, calls = tmp_path / "runner", tmp_path / "calls"
    runner.write_text(
        f"#!/bin/sh\necho call >> {calls}\n"
        f"[ $(wc -l < {calls}) -le 2 ] && exec {sys.executable} -\n"
        "echo 'the container is gone' >&2; exit 125\n"
    )
    runner.chmod(0o755)
    out, err = done(*command, "--runner", f"{runner} 'two words'")
    said = " ".join(out.split())
    assert f"Not all code has a score: {runner} 'two words' ran no code" in said.replace("- ", "-")
    assert "exit code 125 (the container is gone)" in said
    assert "1 of 9 are kept" in err
    assert "Traceback" not in err

    solve_what_ars_answered(tmp_path / "run.jsonl")
    out, err = done(*command, "--runner", f"{sys.executable} -")
    facts = json.loads((tmp_path / "out.json").read_text())
    assert [score["value"] for score in code_scores(facts)] == [1, 0, 1, 0]  # ArS, SpS; twice
    assert "Code was not run" not in out
    assert "has a score" not in out


def solve_what_ars_answered(path: Path) -> None:
    """Put the solution into the answers of ArS; SpS's stay those of a random model."""
    problem = json.loads((DATA / "code.jsonl").read_text().splitlines()[0])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for result in (line["result"] for line in lines if line.get("key", "").startswith("answer")):
        if (result["question"], result["system"]) == (problem["task_id"], "ars"):
            result["measured"]["text"] = problem["canonical_solution"]
    kept = [line for line in lines if not line.get("key", "").startswith("score")]
    path.write_text("".join(json.dumps(line) + "\n" for line in kept))


def code_scores(facts: dict[str, Any]) -> list[Any]:
    return [each["score"] for each in facts["chen_table_1"] if each["kind"].startswith("code")]


@pytest.mark.parametrize(
    ("runner", "says"),
    [
        ("no-such-runner -x", "no-such-runner -x ran no code: it cannot be started"),
        ("false", "it ended with exit code 1"),
        ("podman 'run", "has no closing quotation"),
        ("", "it is empty"),
    ],
)
def test_runner_that_cannot_run_is_refused_before_anything_is_measured(
    pair, tmp_path: Path, runner: str, says: str
) -> None:
    path = tmp_path / "run.jsonl"
    code, out, err = ended("bench", "paper", *pair, "--runner", runner, "--run", path)
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err
    assert not path.exists()


def begun(pair, asked: Path, path: Path) -> tuple[tuple[object, ...], subprocess.Popen[str]]:
    """Return a command, and its process, which stays at its third task, once it has two answers."""
    few = ("--max-tokens", 40, "--systems", "ars,model=3", "--run", path)
    command = ("bench", "prompts", asked, *pair, *GREEDY, *few)
    held = endless("tui.shell.engine_console", "EngineConsole.run", after=2)
    process = start(*command, first=held)
    while not path.exists() or len(path.read_bytes().splitlines()) < 3:
        assert process.poll() is None
        time.sleep(0.01)
    return command, process


def test_interrupted_run_keeps_what_it_has_and_is_continued(
    pair, asked: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    command, process = begun(pair, asked, path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert f"--run {path}" in err
    before = path.read_bytes()
    assert before.endswith(b"\n")
    assert 3 <= len(before.splitlines()) < 7

    out, err = done(*command)
    assert "are done already" in err
    assert path.read_bytes().startswith(before)
    assert len(path.read_bytes().splitlines()) == 7

    code, out, err = ended(*command, "--top-k", 3)
    assert (code, out) == (2, "")
    assert "top_k was 40, and is 3 now" in err


def test_death_of_the_engine_is_a_model_error_and_what_was_measured_is_kept(
    pair, asked: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    _, process = begun(pair, asked, path)
    while process.poll() is None:  # one that dies between two answers is replaced
        with suppress(psutil.NoSuchProcess):
            (engine,) = psutil.Process(process.pid).children() or (None,)
            if engine and engine.cpu_times().user > 1:  # it is up, and at it for the most part
                engine.send_signal(signal.SIGABRT)
        time.sleep(0.01)
    out, err = process.communicate()
    assert (process.returncode, out) == (3, "")
    assert "ended while it measured answers" in err
    assert "Traceback" not in err
    assert len(path.read_bytes().splitlines()) >= 3


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("prompts", "--systems", "fast"), 2, "is not a system"),
        (("prompts", "none.jsonl"), 2, "cannot be read"),
        (("compare", "none.json", "none.json"), 2, "cannot be read"),
        (("predict", "none.jsonl"), 2, "is not a file"),
        (("prompts", "--llama-server", "/no/server"), 2, "is not a program"),
        (("sweep", "--lookaheads", "1,x"), 2, "not a list of lookaheads"),
        (("sweep", "--lookaheads", "40"), 2, "1 to 31"),
        (("prompts", "--json", "/no/such/folder/x.json"), 4, "there is no folder"),
        (("prompts", "--draft", "none", "--systems", "model=3"), 3, "needs a draft"),
    ],
)
def test_what_cannot_be_done_is_said_immediately(pair, arguments, code, complaint) -> None:
    given = arguments if "--draft" not in arguments else (*arguments, *pair[:2])
    models = (*pair, *GREEDY) if given is arguments else GREEDY
    models = models if given[0] in ("prompts", "sweep") else ()
    found, out, err = ended("bench", *given, *models)
    assert (found, out) == (code, "")
    assert complaint in err
    assert "Traceback" not in err
