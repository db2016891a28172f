"""Textual's and Rich's private names: one module uses them, and an upgrade that moves one fails."""

import ast
import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import textual._ansi_sequences
import textual._compositor
import textual.widgets._footer
import textual.widgets._markdown
from textual.app import App
from textual.drivers import linux_driver
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets.markdown import MarkdownBlock

from tests import ROOT

HOME = ROOT / "tui/app/textual_private.py"
FOREIGN = ("textual", "rich")
MODULES = [path for path in sorted((ROOT / "tui").rglob("*.py")) if path != HOME]
OWN = ("self", "cls", "super()")
CALLED = {
    "rich._wrap": {"divide_line": "text width fold"},
    "textual._compositor": {
        "CompositorUpdate.render_segments": "self console",
    },
    "textual._styles_cache": {"StylesCache.set_dirty": "self regions"},
    "textual.app": {
        "App._display": "self screen renderable",
        "App._fatal_error": "self",
        "App.panic": "self renderables",
    },
    "textual.widgets": {"TextArea._on_key": "self event", "TextArea._on_paste": "self event"},
    "textual.widgets._markdown": {
        "MarkdownListItem.__init__": "self markdown token bullet",
        "MarkdownTable.__init__": "self markdown token args kwargs",
        "MarkdownTableContent.__init__": "self headers rows",
        "MarkdownOrderedList.compose": "self",
    },
    "textual.widgets._footer": {
        "FooterKey.__init__": "self key key_display description action disabled tooltip classes"
    },
}
"""The parameters of what is called or overridden, by module and name."""
SET: tuple[tuple[object, tuple[str, ...]], ...] = (
    (App, ("_driver", "_keymap", "_exception", "_batch_count")),
    (Screen, ("_compositor", "_layout_required")),
    (Widget, ("_anchor_released", "_styles_cache")),
    (MarkdownBlock, ("_blocks",)),
    (textual._compositor.Compositor, ("visible_widgets",)),
    (linux_driver.LinuxDriver, ("_must_signal_resume", "_auto_restart")),
    (textual.widgets._markdown.MarkdownBullet, ("symbol",)),
    (textual._ansi_sequences, ("ANSI_SEQUENCES_KEYS",)),
)
"""The attributes that are read or set, by their owner."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def reached(path: Path) -> set[str]:
    """Return the private names of others that a module uses."""
    tree = ast.parse(path.read_text())
    nodes = list(ast.walk(tree))
    attributes = [each for each in nodes if isinstance(each, ast.Attribute)]
    stored = [each for each in attributes if isinstance(each.ctx, ast.Store)]
    own = {each.attr for each in stored if ast.unparse(each.value) in OWN}
    own |= {each.name for each in nodes if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    found = {
        ast.unparse(each)
        for each in attributes
        if is_private(each.attr)
        and each.attr not in own
        and ast.unparse(each.value) not in (*OWN, "os")
    }
    for node in nodes:
        module = node.module if isinstance(node, ast.ImportFrom) else None
        if module and module.split(".")[0] in FOREIGN and any(map(is_private, module.split("."))):
            found.add(module)
        if isinstance(node, ast.Import):
            names = (alias.name for alias in node.names)
            found |= {name for name in names if name.startswith(FOREIGN) and "._" in name}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_other_module_uses_a_private_name_of_textual_or_rich(path: Path) -> None:
    assert not reached(path)


def resolve(module: str, name: str) -> object:
    found: object = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize(
    ("module", "name", "parameters"),
    [(module, name, each) for module, names in CALLED.items() for name, each in names.items()],
)
def test_what_is_called_or_overridden_has_the_parameters_it_had(
    module: str, name: str, parameters: str
) -> None:
    found = resolve(module, name)
    assert callable(found)
    assert list(inspect.signature(found).parameters) == parameters.split()


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner, names in SET for name in names]
)
def test_what_is_read_or_set_is_there(owner: type | ModuleType, name: str) -> None:
    bases = inspect.getmro(owner) if isinstance(owner, type) else (owner,)
    assert any(name in inspect.getsource(base) for base in bases if base is not object)
