"""The steps of `make`'s set-up: their commands, their output, and what is done once."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import ClassVar

import psutil
import pytest

from models.set_up import steps
from models.set_up.__main__ import main as set_up
from models.set_up.steps import SetupStep, StepFailed
from tests import ROOT
from tests.models.files.stores import file
from tests.patience import WAIT_S

START = "models.set_up.__main__"
NO_WHEEL = "ERROR: No matching distribution found for ik-llama-cpp-python==0.1.5"
SLEEP = "import time; time.sleep(600)"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); {SLEEP}"


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """Run nothing: keep what would be run; `ran.says` maps a word of a command to what it says."""

    class Ran(list[object]):
        says: ClassVar[dict[str, tuple[int, list[str]]]] = {}

    calls = Ran()

    def attempt(self, command, on_line=lambda line: None, variables=None):
        text = " ".join(map(str, command))
        calls.append((text, variables or {}))
        code, lines = next((output for word, output in calls.says.items() if word in text), (0, []))
        for line in lines:
            on_line(line)
        return lines if code else []

    monkeypatch.setattr(SetupStep, "attempt", attempt)
    monkeypatch.setattr(steps, "works", lambda *command: True)
    monkeypatch.setattr(steps, "VENV", tmp_path)
    return calls


def has(tmp_path: Path, module: str) -> None:
    file(tmp_path / "lib" / "python3" / "site-packages" / module / "__init__.py", b"")


def test_it_needs_nothing_but_pythons_own_library_and_an_old_python_can_read_it():
    for path in (ROOT / "models/set_up").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(), feature_version=(3, 8))):
            if isinstance(node, ast.ImportFrom):
                assert str(node.module).split(".")[0] in {*sys.stdlib_module_names, "models"}
            elif isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= sys.stdlib_module_names


@pytest.mark.parametrize("fault", ["", "moved", "python", "pyvenv.cfg", "done environment"])
def test_an_environment_that_no_longer_works_is_made_afresh(ran, tmp_path, monkeypatch, fault):
    monkeypatch.setattr(steps, "PYTHON", tmp_path / "python")
    monkeypatch.setattr(steps, "LOG", tmp_path / "setup.log")
    at = "/elsewhere" if fault == "moved" else str(tmp_path)
    for name in {"setup.log", "done specchat", "done environment", "python"} - {fault}:
        (tmp_path / name).touch()
    if fault != "pyvenv.cfg":
        (tmp_path / "pyvenv.cfg").write_text(f"command = python -m venv {at}\n")
    steps.environment()
    assert any("-m venv" in command for command, _ in ran) == bool(fault)
    assert (tmp_path / "done specchat").exists() == (not fault)


def test_packages_are_installed_again_only_for_new_versions(ran, tmp_path, monkeypatch, capsys):
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
    for lines in (["Connection refused"], ["connection broken by 'SSLError'", NO_WHEEL]):
        ran.says = {"--require-hashes": (1, lines)}
        with pytest.raises(StepFailed, match=lines[0]):
            steps.second_engine()
    ran.says = {"--require-hashes": (1, [NO_WHEEL])}
    assert not steps.second_engine()
    has(tmp_path, "ik_llama_cpp")
    assert steps.second_engine()


@pytest.mark.parametrize(("system", "tried"), [("linux", [True, False]), ("darwin", [False])])
def test_on_macos_llama_cpp_is_compiled_and_no_wheel_tried(monkeypatch, system, tried):
    done = []
    monkeypatch.setattr(sys, "platform", system)
    for name in ("environment", "packages"):
        monkeypatch.setattr(f"{START}.steps.{name}", lambda *_: None)
    monkeypatch.setattr(f"{START}.packages", lambda *_: None)
    monkeypatch.setattr(f"{START}.subprocess.call", lambda *_: 0)
    monkeypatch.setattr(f"{START}.steps.second_engine", lambda: done.append(True))
    monkeypatch.setattr(f"{START}.steps.llama_cpp", lambda goal, can_wait: done.append(False))
    set_up("chat")
    assert done == tried


def test_a_wheel_that_does_not_run_on_this_processor_is_taken_away_again(ran, monkeypatch):
    monkeypatch.setattr(steps, "works", lambda *command: False)
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
    forced = ["--no-cache-dir --force-reinstall --no-deps" in command for command, _ in ran]
    assert forced == [False, True]


@pytest.mark.skipif(sys.platform != "linux", reason="it is for Linux")
def test_ik_llama_cpp_is_compiled_once_and_compared_with_its_wheel_each_time(ran, tmp_path, capsys):
    (tmp_path / "native").mkdir()  # of an earlier version
    with pytest.raises(StepFailed, match="needs the wheel"):
        steps.native(has_wheel=False)
    ran.says = {"--no-binary": (1, ["error: no such header"])}
    with pytest.raises(StepFailed, match="no such header"):
        steps.native(has_wheel=True)
    ran.says = {"--no-binary": (0, ["[7/43] a"]), "native_build": (0, ["loading", "it is used"])}
    steps.native(has_wheel=True)
    steps.native(has_wheel=True)
    assert not (tmp_path / "native").exists()
    _, (command, flags), *comparing = ran
    assert "--no-binary ik-llama-cpp-python --no-cache-dir --target" in command
    assert "--require-hashes" in command
    assert Path(flags["SKBUILD_CMAKE_DEFINE"].partition("=")[2]).exists()
    assert [command.endswith("-m models.ik.native_build") for command, _ in comparing] == [True] * 2
    assert "Comparing it with the wheel: it is used (" in capsys.readouterr().out


@pytest.mark.parametrize(("goal", "can_wait"), [("llama", True), ("chat", False), ("test", True)])
def test_without_a_compiler_one_is_asked_for(ran, monkeypatch, goal, can_wait):
    monkeypatch.setattr(steps, "works", lambda *command: False)
    with pytest.raises(StepFailed, match="there is no C"):
        steps.llama_cpp(goal, can_wait)
    with pytest.raises(StepFailed, match="there is no C" if sys.platform == "linux" else "Linux"):
        steps.native(has_wheel=True)
    assert not ran


def test_a_chat_goes_on_without_a_compiler_where_another_engine_is(ran, monkeypatch, capsys):
    monkeypatch.setattr(steps, "works", lambda *command: False)
    steps.llama_cpp("chat", can_wait=True)
    assert "ik_llama.cpp does without it" in capsys.readouterr().out


def test_make_says_which_python_it_needs():
    done = subprocess.run(
        ["make", "chat", "PYTHON=no-such-python"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode
    assert "specchat needs Python 3.11 or newer, and there is no no-such-python" in done.stdout


def test_make_drops_variables_that_lead_past_its_environment(tmp_path):
    odd = dict.fromkeys(("PYTHONHOME", "PYTHONWARNINGS", "PIP_TARGET", "PIP_PREFIX"), "/odd")
    (tmp_path / "python").write_text("#!/bin/sh\nexec env\n")
    (tmp_path / "python").chmod(0o700)
    done = subprocess.run(
        ["make", "ready-to-test", f"PYTHON={tmp_path}/python"], cwd=ROOT, check=True,
        env=os.environ | odd | {"PIP_USER": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert "=/odd" not in done.stdout
    assert "PIP_USER=0\n" in done.stdout


@pytest.fixture
def venv(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(steps, "VENV", tmp_path)
    monkeypatch.setattr(steps, "LOG", tmp_path / "log")
    return tmp_path


def test_lines_are_heard_while_the_command_runs_and_the_last_are_shown_if_it_fails(venv):
    """It ends only when its first line was heard."""
    received, gate = [], venv / "gate"
    code = f"""
import pathlib, os, time
print("first", flush=True)
pathlib.Path(os.environ["TMPDIR"], "left").touch()
while not pathlib.Path({str(gate)!r}).exists():
    time.sleep(0.01)
print(*range(100), sep="\\n")
raise SystemExit(3)
"""

    def hear(line):
        received.append(line)
        gate.touch()

    (venv / "log").write_text("of another command\n")
    with pytest.raises(StepFailed) as failed:
        SetupStep("Counting").run([sys.executable, "-c", code], hear)
    output = ["first", *map(str, range(100))]
    assert received == output
    assert (venv / "log").read_text() == "\n".join(["of another command", *output, ""])
    assert str(failed.value).startswith("80\n")
    assert "Counting failed" in str(failed.value)
    assert sorted(path.name for path in venv.iterdir()) == ["gate", "log"]


def test_an_interrupt_ends_all_that_was_started(venv):
    code = f"print(1, flush=True)\n{PARENT}"
    family = []

    def interrupt(line):
        (parent,) = psutil.Process().children()
        while not (children := parent.children()):
            sleep(0.01)
        family.extend([parent, *children])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SetupStep("Waiting").run([sys.executable, "-c", code], interrupt)
    assert len(family) == 2
    assert not psutil.wait_procs(family, WAIT_S)[1]


def test_the_result_of_a_step_is_shown_in_full_on_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((20, 5)))
    monkeypatch.setattr(sys.stdout, "fileno", lambda: 1)
    step, result = SetupStep("Comparing"), "it is used from now on: 1.16 times as fast in prompts"
    step.end(result)
    assert f"Comparing: {result} (0 s)\n" in capsys.readouterr().out
