"""The files that run between a key press and a painted token, traced in both processes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.house.trace import Trace
from tests.terminal.terminal import DONE, TINY, Terminal, idle

OPEN_CHAT, ASK = 106, 119
"""Files that one answer may run: in a chat that is open, and of `ask` from start to end.

94, 95 and 116 were measured; what saves now and then may fall into the traced answer,
with eight files more.
One of them looks for folders that the question is about.
55 and 95 are wanted. A change may only lower them.
"""
STATION = r"^((?:tui|assistant|models)/\S+)"
ENGINE = "assistant/engine/"
BORDER = re.compile(r"^- - -.*$", re.MULTILINE)


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    folder = tmp_path / "trace"
    folder.mkdir()
    return Trace(folder)


@pytest.fixture
def answered(tmp_path, tiny_target, tiny_draft, trace, monkeypatch) -> list[list[str]]:
    """The trace of one answer in a chat that is open, the second of its conversation."""
    for name, value in trace.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SPECCHAT_IDLE", "off")  # what is done meanwhile is no part of an answer
    models = ["--target", str(tiny_target), "--draft", str(tiny_draft), "--max-tokens", "20"]
    with Terminal(tmp_path, *models, size=(100, 80)) as terminal:
        idle(terminal)
        terminal.press("Why?\r")
        terminal.shows(DONE)
        terminal.press("And the grass?")
        terminal.shows("│ And the grass?")
        while terminal.read(1.0):  # what the last answer still paints is no part of the next
            pass
        trace.begin_again()
        terminal.press("\r")
        terminal.until(lambda screen: "And the grass?" in screen and screen.count(DONE) >= 2)
        files: list[list[str]] = trace.processes
        terminal.quit()
    return files


def test_an_answer_in_an_open_chat_runs_few_files(answered):
    files = sorted(set().union(*answered))
    assert len(files) <= OPEN_CHAT, "\n".join([f"{len(files)} files:", *files])


def test_ask_runs_few_files_from_start_to_end(tmp_path, tiny_target, tiny_draft, trace):
    home = {"SPECCHAT_HOME": str(tmp_path / "home"), "HF_HUB_CACHE": str(tmp_path / "hub")}
    command = ["-m", "tui", "ask", "Say hi", "--target", tiny_target, "--draft", tiny_draft]
    done = subprocess.run(
        [sys.executable, *command, *TINY, "--max-tokens", "16"],
        env=trace.environment | home, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    files = sorted(trace.files)
    assert len(files) <= ASK, "\n".join([f"{len(files)} files:", *files])


def test_the_files_of_the_tour_in_contributing_run_in_its_order(answered):
    """Each station of CONTRIBUTING's picture runs in its process, the engine's in that order."""
    picture = (ROOT / "CONTRIBUTING.md").read_text().split("```")[1]
    there, engine, back = (
        re.findall(STATION, part, re.MULTILINE) for part in BORDER.split(picture)
    )
    assert min(map(len, (there, engine, back))) >= 3
    worker = next(files for files in answered if any(map(re.compile(ENGINE).match, files)))
    program = next(files for files in answered if any(file.startswith("tui/") for file in files))
    assert met(engine, worker) == engine
    # What saves now and then runs some of these before the key is pressed.
    assert set(met([*there, *back], program)) == {*there, *back}


def met(stations: list[str], files: list[str]) -> list[str]:
    """Return the stations, which are files or folders, in the order in which they first ran."""
    places = {
        station: next((place for place, file in enumerate(files) if file.startswith(station)), None)
        for station in stations
    }
    ran = {station: place for station, place in places.items() if place is not None}
    return sorted(ran, key=ran.__getitem__)
