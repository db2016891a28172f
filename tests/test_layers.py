"""Imports go one way, and each third-party library has one home."""

import ast
from collections import Counter
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests import ROOT
from tests.scripts import printed
from tests.sources import MODULES, PACKAGES, light

HOMES = {
    "h11": ("assistant/serve/",), "starlette": ("assistant/serve/",),
    "uvicorn": ("assistant/serve/",), "ik_llama_cpp": ("models/ik/",),
    "llama_cpp": ("models/llama/",), "llguidance": ("assistant/constraints/",),
    "huggingface_hub": ("models/files/",), "textual": ("tui/",), "rich": ("tui/",),
    "prompt_toolkit": ("tui/inline/",),
    "click": ("tui/",), "jinja2": ("assistant/prompt/",), "pathspec": ("assistant/passages/",),
    "pypdfium2": ("assistant/passages/",), "Stemmer": ("assistant/passages/",),
    "tree_sitter": ("assistant/edit/",),
    "mcp": ("assistant/tools/",), "mcp_types": ("assistant/tools/",),
    "anyio": ("assistant/tools/",), "pydantic": ("assistant/tools/",),
    "msgspec": ("assistant/", "models/files/"),
    "numpy": ("models/", "assistant/"),
}  # fmt: skip
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
from assistant.request import EngineArgs, Message, Request

commands, send = os.pipe()
receive, events = os.pipe()
Thread(target=worker.serve, args=(commands, events, *worker.chat()), daemon=True).start()
pipe = os.fdopen(receive, "rb")
for job in (
    EngineArgs(Path(sys.argv[1]), n_ctx=512, threads=1),
    Request((Message("user", "Why?"),), max_tokens=8),
):
    os.write(send, wire.frame(CHAT.commands.encode(Envelope(1, job))))
    message = None
    while not message or not message.last:
        message = CHAT.messages.decode(wire.read(pipe))
    assert not isinstance(message.content, Failed), message
assert isinstance(message.content, Finished)
print(*sys.modules, flush=True)
os._exit(0)
"""


@dataclass(frozen=True)
class Source:
    """A module, parsed once for all laws."""

    name: str
    imports: dict[str, set[str]]  # what is taken of each module; wherever that is written
    texts: set[str]
    classes: list[str]

    @property
    def dotted(self) -> str:
        return self.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def named(self) -> set[str]:
        """Every module that it imports, or names as a text."""
        members = {f"{module}.{each}" for module in self.imports for each in self.imports[module]}
        return {*self.imports, *members, *self.texts}


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return [parsed(path) for path in MODULES]


def parsed(path: Path) -> Source:
    tree = ast.parse(path.read_text())
    found = Source(path.relative_to(ROOT).as_posix(), {}, set(), [])
    found.classes.extend(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    found.imports.setdefault(alias.name, set())
            case ast.ImportFrom(module=str(module), names=names):
                found.imports.setdefault(module, set()).update(alias.name for alias in names)
            case ast.Constant(value=str(text)):
                found.texts.add(text)
    return found


@pytest.fixture(scope="module")
def names(sources) -> dict[str, set[str]]:
    return {source.dotted: source.named for source in sources}


def test_imports_go_from_tui_to_assistant_to_models(sources):
    for source in sources:
        packages = {module.split(".")[0] for module in source.imports}
        assert packages & {*PACKAGES, "tests"} <= BELOW[source.name.split("/")[0]], source.name


def test_each_library_has_one_home(sources):
    for source in sources:
        for library in {module.split(".")[0] for module in source.imports}:
            assert library not in FORBIDDEN, source.name
            assert source.name.startswith(HOMES.get(library, ("",))), (source.name, library)


def test_the_engine_runs_in_a_process_of_its_own_and_nowhere_else(names):
    users = {module for module in names if "assistant.engine.engine.Engine" in names[module]}
    assert users == {"assistant.process.worker"}


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


def test_a_worker_that_chats_loads_few_files_and_no_laboratory(sources, tiny_target):
    """The worker's own loop answers once, here in a process that then tells what it has loaded."""
    loaded = set(printed(CHATTING, tiny_target).split())
    files = loaded & {each.dotted for each in sources if not each.name.endswith("__init__.py")}
    assert len(files) <= CHATTING_FILES, "\n".join(sorted(files))
    assert {"assistant.engine.reply", "models.native.model"} <= loaded
    assert not {module for module in loaded if is_lab(module)}


@pytest.mark.parametrize(
    ("modules", "unused"),
    [
        ("models.base, models.catalog, assistant.decoding.rules.rule", {"llama_cpp"}),
        ("models.files.locate, models.files.checksum", {"huggingface_hub", "httpx2", "numpy"}),
        ("assistant.engine.profile", {"llama_cpp"}),
        ("assistant.process.engine_process", {"llama_cpp", "numpy", "jinja2"}),
        ("assistant.tools.toolbox", {"mcp", "httpx2", "pydantic"}),
        ("tui.models.command", {"huggingface_hub", "llama_cpp", "numpy", "textual"}),
        ("tui.models.command", {"rich.progress"}),
        (
            "assistant.process.worker, assistant.engine.engine",
            {"assistant.store", "filelock", "asyncio", "textual", "numpy"},
        ),
    ],
)
def test_a_library_that_a_module_never_uses_is_not_loaded_with_it(modules, unused):
    printed(f"import sys, {modules}\nassert not {unused} & {{*sys.modules}}")


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(argument):
    assert "specchat" in light(
        argument, without=frozenset({"msgspec", "assistant.store", "models.catalog"})
    )


def test_no_modules_import_each_other_round_in_a_circle(sources):
    """Neither at the top, nor in a function, nor for types alone."""
    ours = {source.dotted for source in sources}
    graph: dict[str, set[str]] = {}
    for source in sources:
        graph[source.dotted] = set()
        for module, taken in source.imports.items():
            inside = {f"{module}.{each}" for each in taken}  # of a package only what is named
            graph[source.dotted] |= (inside if inside and inside <= ours else {module}) & ours
    TopologicalSorter(graph).prepare()


def test_the_shell_knows_nothing_of_the_chat(names):
    for module in (each for each in names if each.startswith("tui.shell.")):
        assert not [each for each in names[module] if each.startswith("tui.chat")], module


def test_a_class_has_its_name_for_itself(sources):
    public = [each for source in sources for each in source.classes if not each.startswith("_")]
    assert [name for name, count in Counter(public).items() if count > 1] == []
