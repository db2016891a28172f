"""`specchat ask --about`: a folder is read first, stands before the question, and is cited."""

import asyncio
import json
import re
from itertools import repeat
from pathlib import Path
from unittest.mock import Mock, create_autospec

import pytest
from click.testing import CliRunner, Result

from assistant.engine.profile import PROFILES
from assistant.passages import folder_index
from assistant.request import EngineArgs
from assistant.session.folder_retriever import FolderRetriever
from models.files.places import cache_dir
from tests.assistant.passages.indexes import update_here
from tests.patience import WAIT_S
from tests.scripted_engine import Script, ScriptedEngine
from tests.tui.shell.program import use_script
from tui.shell.ask_command import ask as command


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mock:
    script = Script(repeat("In Lima [1][9]."))
    known = [*use_script(tmp_path, monkeypatch, script, 8000), "--max-tokens", "4"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(folder_index, "update", update_here)
    for name, text in (
        ("notes", "Zeppelins are moored in Lima."),
        ("more", "In Rome zeppelins are moored."),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "air.md").write_text(text)

    def asked(*options: str) -> Result:
        return CliRunner().invoke(command, [*known, *options, "Where are zeppelins moored?"])

    return Mock(side_effect=asked, requests=script.requests)


def test_an_answer_names_its_sources_after_it_and_in_json(ask) -> None:
    done = ask("--about", "notes")
    assert done.exit_code == 0
    assert "[1] notes/air.md:1" in done.stderr
    assert "[9] is not a passage of this question." in done.stderr
    assert "[9] notes" not in done.stderr
    (request,) = ask.requests
    assert request.messages[-1].content.startswith("[1] notes/air.md:1:\n```\nZeppelins")
    report = json.loads(ask("--about", "notes", "--json").stdout)
    assert report["sources"] == [{"number": 1, "name": "notes/air.md", "first": 1, "last": 1}]
    assert "sources" not in json.loads(ask("--json").stdout)


def test_the_folder_is_read_while_the_model_loads(ask, monkeypatch) -> None:
    do = create_autospec(ScriptedEngine.do, side_effect=ScriptedEngine.do)
    monkeypatch.setattr(ScriptedEngine, "do", do)

    async def after_a_job(self, names) -> None:
        async with asyncio.timeout(WAIT_S):
            while not do.called:
                await asyncio.sleep(0.01)
        await read(self, names)

    read = FolderRetriever.read
    monkeypatch.setattr(FolderRetriever, "read", after_a_job)
    assert "[1] notes/air.md:1" in ask("--about", "notes").stderr
    assert isinstance(do.call_args_list[0].args[1], EngineArgs)


@pytest.mark.parametrize("option", ["--about", "-f"])
def test_several_folders_are_asked_together_also_among_the_files(ask, option: str) -> None:
    ask("--about", "more", option, "notes")
    content = ask.requests[0].messages[-1].content
    assert "notes/air.md:1" in content
    assert "more/air.md:1" in content


def test_a_long_file_is_asked_by_its_passages(ask, tmp_path, monkeypatch) -> None:
    long = "Zeppelins are moored in Lima.\n" + "A walrus sleeps on ice.\n" * 100
    for name, text in (("a.txt", "Rain."), ("b.txt", long), ("c.txt", long), ("d.txt", long * 4)):
        (tmp_path / name).write_text(text)
    ask()  # measures the model
    saved = json.loads((cache_dir() / PROFILES).read_text())
    for key in filter(lambda key: key.startswith("verify"), saved):
        saved[key]["prompt_token_s"] = 0.007
    (cache_dir() / PROFILES).write_text(json.dumps(saved))
    files = ("-f", "a.txt", "-f", "b.txt", "-f", "c.txt")
    done = ask(*files)
    content = ask.requests[1].messages[-1].content
    assert content.startswith("a.txt:\n```\nRain.\n```")  # those that there is time for, whole
    assert long.strip() not in content
    assert "] b.txt:1-" in content
    assert "b.txt would take 17 s to read: asked by its passages." in done.stderr
    assert "c.txt would take" in done.stderr
    assert "a.txt would take" not in done.stderr
    (hint,) = {*re.findall("SPECCHAT_(ABOUT_SECONDS)=([0-9]+) reads all of it", done.stderr)}
    monkeypatch.setenv(f"SPECCHAT_{hint[0]}", hint[1])
    done = ask(*files)
    assert "would take" not in done.stderr
    assert ask.requests[2].messages[-1].content.count(long.strip()) == 2
    done = ask(*files, "-f", "d.txt")  # which nothing makes fit
    assert "d.txt does not fit into the context: asked by its passages." in done.stderr
    assert "reads all of it" not in done.stderr
