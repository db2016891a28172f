"""Private names of Textual and Rich are used in one module alone."""

import ast
from pathlib import Path

import pytest

from tests import ROOT

HOME = ROOT / "tui/app/textual_private.py"
FOREIGN = ("textual", "rich")
MODULES = [path for path in sorted((ROOT / "tui").rglob("*.py")) if path != HOME]
OWN = ("self", "cls", "super()")


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
