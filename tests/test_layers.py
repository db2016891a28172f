"""Imports go one way, and each third-party library has one home."""

import ast
import os
import subprocess
import sys
from collections.abc import Set
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.patience import WAIT_S

ROOT = Path(__file__).parents[1]
PACKAGES = ("models", "assistant", "tui")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
HOMES = {
    "h11": ("assistant/serve/",),
    "starlette": ("assistant/serve/",),
    "uvicorn": ("assistant/serve/",),
    "ik_llama_cpp": ("models/ik/",),
    "llama_cpp": ("models/llama/",),
    "llguidance": ("assistant/forms/",),
    "huggingface_hub": ("models/files/",),
    "textual": ("tui/",),
    "rich": ("tui/",),
    "click": ("tui/",),
    "jinja2": ("assistant/chat/",),
    "mcp": ("assistant/tools/",),
    "mcp_types": ("assistant/tools/",),
    "anyio": ("assistant/tools/",),
    "pydantic": ("assistant/tools/",),
    "msgspec": ("assistant/", "models/files/"),
    "numpy": ("models/", "assistant/"),
}
BELOW = {"models": {"models"}, "assistant": {"models", "assistant"}, "tui": set(PACKAGES)}
FORBIDDEN = {"pickle", "marshal", "shelve", "diskcache", "requests"}


CHATTING_FILES = 80
"""Files of ours that a worker imports which only chats. It may only become less."""
CHATTING = """
import os, sys
from pathlib import Path
from threading import Thread
from assistant.process import worker
from assistant.process import wire
from assistant.process.wire import Envelope
from assistant.process.wire import CHAT
from assistant.events import Failed, Finished
from assistant.request import Message, Request, Setup

commands, tell = os.pipe()
hear, events = os.pipe()
Thread(target=worker.serve, args=(commands, events, *worker.chat()), daemon=True).start()
pipe = os.fdopen(hear, "rb")
for job in (
    Setup(Path(sys.argv[1]), n_ctx=512, threads=1),
    Request((Message("user", "Why?"),), max_tokens=8),
):
    os.write(tell, wire.framed(CHAT.commands.encode(Envelope(1, job))))
    said = None
    while not said or not said.last:
        said = CHAT.messages.decode(wire.read(pipe))
    assert not isinstance(said.content, Failed), said
assert isinstance(said.content, Finished)
print(*sys.modules, flush=True)
os._exit(0)
"""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def dotted(path: Path) -> str:
    return name(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def nodes(path: Path) -> list[ast.AST]:
    kinds = (ast.Import, ast.ImportFrom, ast.Constant)
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]


@cache
def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def named(path: Path) -> set[str]:
    """Return every module that a file imports, wherever in it, or names as a text."""
    names = set(imported(path))
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
    return names


@pytest.fixture(scope="module")
def names() -> dict[str, set[str]]:
    return {dotted(path): named(path) for path in MODULES}


def test_imports_go_from_tui_to_assistant_to_models():
    for path in MODULES:
        packages = {module.split(".")[0] for module in imported(path)}
        assert packages & {*PACKAGES, "tests"} <= BELOW[name(path).split("/")[0]], name(path)


def test_each_library_has_one_home():
    for path in MODULES:
        for module in imported(path):
            library = module.split(".")[0]
            assert library not in FORBIDDEN, name(path)
            assert name(path).startswith(HOMES.get(library, ("",))), (name(path), module)


def test_the_engine_runs_in_a_process_of_its_own_and_nowhere_else():
    users = {name(path) for path in MODULES if "assistant.engine.engine.Engine" in named(path)}
    assert users == {"assistant/process/worker.py"}


def is_lab(module: str) -> bool:
    return (module + ".").startswith(("assistant.lab.", "tui.lab."))


def test_the_core_names_no_laboratory(names):
    """Neither at the top, nor in a function, nor for types alone, nor as text to import by."""
    for module, mentioned in names.items():
        if module.startswith("assistant.") and not is_lab(module):
            assert not {other for other in mentioned if is_lab(other)}, module


def test_nothing_that_a_chat_or_the_endpoint_reaches_is_a_laboratory(names):
    start = [
        module
        for module in names
        if module.startswith(("tui.chat.", "tui.race.", "tui.app.", "assistant."))
        and not is_lab(module)
        and not module.endswith(".command")  # the shell's, which imports them by name
    ]
    reached, waiting = set(), [*start, "tui.shell.serve"]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += names[module] & names.keys()
    assert len(reached) > 200
    assert not {module for module in reached if is_lab(module)}


def test_a_worker_that_chats_loads_few_files_and_no_laboratory(tiny_target):
    """The worker's own loop answers once, here in a process that then tells what it has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", CHATTING, str(tiny_target)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    files = loaded & {dotted(path) for path in MODULES if path.name != "__init__.py"}
    assert len(files) <= CHATTING_FILES, "\n".join(sorted(files))
    assert {"assistant.engine.reply", "models.native.model"} <= loaded
    assert not {module for module in loaded if is_lab(module)}


@pytest.mark.parametrize(
    ("modules", "unused"),
    [
        ("models.base, models.catalog, assistant.decoding.rules.token", {"llama_cpp"}),
        ("models.files.locate, models.files.checksum", {"huggingface_hub", "httpx2", "numpy"}),
        ("assistant.engine.machine_cache", {"llama_cpp"}),
        ("assistant.process.engine_process", {"llama_cpp", "numpy", "jinja2"}),
        ("assistant.tools.toolbox, assistant.tools.approvals", {"mcp", "httpx2", "pydantic"}),
        (
            "assistant.process.worker, assistant.engine.engine",
            {"assistant.store", "filelock", "asyncio", "textual"},
        ),
    ],
)
def test_what_a_module_never_uses_is_not_loaded_with_it(modules, unused):
    code = f"import sys, {modules}\nassert not {unused} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def light(*arguments: str) -> str:
    """Run a command that must load nothing heavy, and return what it prints."""
    code = (
        "import sys\nsys.argv[0] = 'specchat'\nfrom tui.shell.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'llama_cpp', 'numpy', 'textual', 'huggingface_hub', 'jinja2',"
        " 'msgspec', 'assistant.store', 'models.catalog'} & {*sys.modules}\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(argument):
    assert "specchat" in light(argument)


def modules_imported(path: Path, ours: Set[str]) -> set[str]:
    """Return the modules of ours that a file imports; of a package only what it names."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= inside if inside <= ours else {node.module}
    return names & ours


def test_no_modules_import_each_other_round_in_a_circle():
    """Neither at the top, nor in a function, nor for types alone."""
    ours = {dotted(path) for path in MODULES}
    TopologicalSorter({dotted(path): modules_imported(path, ours) for path in MODULES}).prepare()


def test_the_shell_knows_nothing_of_the_chat(names):
    for module in (each for each in names if each.startswith("tui.shell.")):
        assert not [each for each in names[module] if each.startswith("tui.chat")], module


def test_a_class_has_its_name_for_itself():
    homes: dict[str, set[str]] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(name(path))
    assert not {found: where for found, where in homes.items() if len(where) > 1}
