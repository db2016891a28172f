"""Code that a model wrote runs only under the command that the user names, and its end is known."""

import ast
import json
import os
import sys
from pathlib import Path

import psutil
import pytest

from assistant.lab.bench.code_runner import passes, program, run
from assistant.lab.bench.questions import DATA, Question, shipped
from models.errors import UsageError

PYTHON = (sys.executable, "-I", "-")
ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    "code",
    [
        "import json, math\nassert math.sqrt(4) == json.loads('2')",
        "from __future__ import annotations\nassert __name__ == '__main__'",
        "print('{}', \"'''\", 'ü' * 100_000)",
        "import sys; assert sys.stdin.read() == ''",
        "import threading, time; threading.Thread(target=time.sleep, args=[60]).start()",
        "",
    ],
)
def test_program_that_ends_passes(code):
    assert run(code, PYTHON)


@pytest.mark.parametrize(
    "code",
    [
        "assert 1 == 2",
        "def",
        "\0",
        "x = '\udc80'",
        "import sys; sys.exit(0)",
        "import os; os._exit(0)",
        "import unittest; unittest.main()",
        "import os; os.abort()",
        "print('specchat: ended'); raise ValueError",
    ],
)
def test_any_other_program_fails(code):
    assert not run(code, PYTHON)


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(600)",
        "10 ** 10 ** 10",
        "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
        "time.sleep(600)",
    ],
)
def test_program_without_end_fails_and_ends_itself(code):
    """A container would outlive the client that is killed, so the time limit works inside."""
    assert not run(code, PYTHON, seconds=0.5, start_s=10_000)


def test_what_a_program_leaves_running_is_killed():
    """Here the time limit inside is out of reach, and the one outside has to do."""
    word, limit = f"specchat-endless-{os.getpid()}", 1
    while True:
        try:
            assert not run("while True: pass", (*PYTHON, word), 10_000, start_s=limit - 10_000)
            break
        except UsageError:  # it had not even begun
            limit *= 4
    running = [each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"])]
    assert [line for line in running if word in line] == []


@pytest.mark.parametrize(
    ("runner", "why"),
    [
        (("no-such-runner",), "it cannot be started (No such file or directory)"),
        (("/",), "it cannot be started (Permission denied)"),
        (("bad\0name",), "it cannot be started (embedded null byte)"),
        (("true",), "it ended with exit code 0"),
        (("cat",), "it ended with exit code 0"),
        (("sh", "-c", "echo no such image >&2; exit 125"), "exit code 125 (no such image)"),
        ((sys.executable, "-c", "pass"), "it ended with exit code 0"),
    ],
)
def test_runner_that_runs_nothing_is_no_wrong_answer_but_an_error_that_names_it(runner, why):
    with pytest.raises(UsageError) as caught:
        run("pass", runner)
    text = str(caught.value)
    assert runner[0] in text
    assert why in text
    assert "--runner needs a command" in text


def test_runner_that_never_begins_is_given_up():
    with pytest.raises(UsageError, match="nothing had started after 1 seconds"):
        run("pass", ("sleep", "600"), seconds=0.5, start_s=0.5)


def test_no_shell_sees_the_command(tmp_path):
    made = tmp_path / "made"
    with pytest.raises(UsageError):
        run("pass", ("echo", f"; touch {made}", f"$(touch {made})"))
    assert not made.exists()


@pytest.mark.parametrize("question", shipped("code"), ids=lambda question: question.name)
def test_each_problem_is_solved_by_its_solution_and_not_by_nothing(question):
    rows = map(json.loads, (DATA / "code.jsonl").read_text("utf-8").splitlines())
    solution = {row["task_id"]: row["canonical_solution"] for row in rows}[question.name]
    assert passes(f"Here it is:\n```python\n{solution}```\nDone.", question, PYTHON)
    assert not passes(f"def {question.entry_point}(*args): pass", question, PYTHON)


def test_bare_code_an_open_fence_and_the_rest_of_a_function_count_too():
    code = "from typing import List\n\ndef double(x: List) -> List:\n    '''Double.'''\n"
    test = "def check(candidate):\n    assert candidate([1]) == [1, 1]\n"
    question = Question("q", "code", "", None, code, test, "double")
    whole = "def double(x: List) -> List:\n    return x + x\n"
    for text in (whole, f"```python\n{whole}", f"Sure.\n```\n{whole}\n```", "    return x + x\n"):
        assert passes(text, question, PYTHON), program(text, question)


STARTS = {
    "assistant/engine/engine_trial.py",
    "assistant/process/lane_process.py",
    "models/child_process.py",  # what those start
    "models/native/loaded.py",
    "assistant/chat/template_audit.py",  # a template in Jinja's sandbox
    "assistant/lab/bench/code_runner.py",
    "assistant/lab/bench/llama_server.py",
    "assistant/process/worker_process.py",  # the engine
    "assistant/tools/keeper.py",  # a server of tools
    "models/files/mirror.py",  # pip
    "models/native/quantize.py",
    "tui/app/clipboard.py",
    "tui/chat/prompt/file_search.py",  # git
    "tui/set_up/process.py",  # pip, compilers
    "tui/set_up/steps.py",
}
"""The modules that start programs."""
BECOMES = {
    "assistant/tools/stdio_transport.py": {"create_subprocess_exec"},  # keeper.py
    "models/ik/quantize.py": {"os.execv"},  # the program that comes with an engine's package
    "tui/set_up/__main__.py": {"subprocess", "os.execvp"},  # a newer Python
}
"""Those that go on as another program."""
STARTERS = {"subprocess", "multiprocessing", "runpy", "pty", "code", "codeop", "_posixsubprocess"}
OS_STARTERS = ("exec", "spawn", "posix_spawn", "system", "popen", "fork", "startfile")


def modules():
    for package in ("models", "assistant", "tui"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def runs(tree: ast.Module) -> set[str]:
    """What a module has that can run a program or a text of Python."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names} & STARTERS
            case ast.ImportFrom(module="os", names=names):
                found |= {alias.name for alias in names if alias.name.startswith(OS_STARTERS)}
            case ast.ImportFrom(module=str(module)):
                found |= {module} & STARTERS
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name.startswith(OS_STARTERS):
                found.add(f"os.{name}")
            case ast.Call(func=ast.Name(id="exec" | "eval" | "compile" | "__import__" as name)):
                found.add(name)
            case ast.Attribute(attr="create_subprocess_exec" | "create_subprocess_shell" as name):
                found.add(name)
            case ast.keyword(arg="shell"):
                found.add("shell=")
    return found


def test_programs_are_started_in_few_places_and_texts_are_never_executed():
    found = {name: what for name, tree in modules() if (what := runs(tree))}
    assert found == {name: {"subprocess"} for name in STARTS} | BECOMES


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess",
        "from subprocess import run",
        "import os; os.system('x')",
        "from os import execv",
        "exec('x')",
        "eval('x')",
        "import runpy",
        "run('x', shell=True)",
        "import asyncio; asyncio.create_subprocess_exec('x')",
    ],
)
def test_the_test_over_the_sources_notices(code):
    assert runs(ast.parse(code))


def test_only_bench_paper_gives_an_answer_s_code_to_the_runner():
    users: dict[str, set[str]] = {"code_runner": set(), "passes": set(), "program": set()}
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("assistant.lab"):
                names = {*(node.module or "").split("."), *(alias.name for alias in node.names)}
                for each in users.keys() & names:
                    users[each].add(name)
    assert users == {
        "code_runner": {"tui/lab/bench/paper.py"},
        "passes": {"tui/lab/bench/paper.py"},
        "program": set(),
    }
