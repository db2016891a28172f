"""Imports go one way, and each third-party library has one home."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("models", "assistant", "tui")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
HOMES = {
    "h11": ("assistant/serve/",),
    "llama_cpp": ("models/llama/",),
    "huggingface_hub": ("models/files/",),
    "textual": ("tui/",),
    "rich": ("tui/",),
    "click": ("tui/",),
    "jinja2": ("assistant/chat/",),
    "msgspec": ("assistant/",),
    "tomlkit": ("tui/settings/",),
    "numpy": ("models/", "assistant/"),
}
BELOW = {"models": {"models"}, "assistant": {"models", "assistant"}, "tui": set(PACKAGES)}
FORBIDDEN = {"pickle", "marshal", "shelve", "diskcache", "requests"}


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_imports_go_from_tui_to_assistant_to_models(path):
    here = name(path).split("/")[0]
    ours = {module.split(".")[0] for module in imported(path)} & set(PACKAGES)
    assert ours <= BELOW[here]
    assert not {module.split(".")[0] for module in imported(path)} & {"tests"}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_each_library_has_one_home(path):
    for module in imported(path):
        library = module.split(".")[0]
        assert library not in FORBIDDEN
        assert name(path).startswith(HOMES.get(library, ("",))), module


def test_the_engine_runs_in_a_process_of_its_own_and_nowhere_else():
    users = {name(path) for path in MODULES if "assistant.engine.engine" in imported(path)}
    assert users == {"assistant/process/command_loop.py"}


def test_the_protocols_of_a_model_need_no_llama_cpp():
    code = (
        "import sys, models.base, models.catalog, assistant.decoding.rules.token\n"
        "assert 'llama_cpp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_worker_starts_without_what_it_never_uses():
    code = (
        "import sys, assistant.process.command_loop\n"
        "idle = {'assistant.store', 'filelock', 'asyncio', 'textual'} & set(sys.modules)\n"
        "assert not idle, idle"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(argument):
    code = (
        "import sys\nsys.argv = ['specchat', sys.argv[1]]\nfrom tui.shell.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'llama_cpp', 'numpy', 'textual', 'huggingface_hub'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, argument],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "specchat" in done.stdout
