"""Only texts that are written out in the source are read as markup."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "tui"
READ = {"Static", "Label", "Option", "Button", "Tooltip"}
"""What reads a str as markup unless it is told not to."""
TITLES = {"border_title", "border_subtitle", "tooltip"}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


@cache
def everywhere() -> frozenset[str]:
    return plain("\n".join(path.read_text() for path in modules()))


def plain(source: str) -> frozenset[str]:
    """Return the names of functions that return `Content`, which is not read any more."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    strs = {each.name for each in functions if not _returns_content(each)}
    return frozenset({each.name for each in functions} - strs)


def _returns_content(function: ast.FunctionDef) -> bool:
    returns = function.returns and ast.unparse(function.returns)
    return returns in ("Content", "Content | None")


def complaints(source: str) -> list[str]:
    good = {"Content"} | everywhere() | plain(source)
    found = []
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in READ and node.args:
            if not (_is_own(node.args[0], good) or _has_no_markup(node)):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Assign):
            names = {target.attr for target in node.targets if isinstance(target, ast.Attribute)}
            if names & TITLES and not _is_own(node.value, good):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = {alias.name.rpartition(".")[2] for alias in node.names}
            found += [f"line {node.lineno}: {name}" for name in names & {"from_markup", "Markup"}]
        elif isinstance(node, ast.Attribute) and node.attr in ("from_markup", "render_str"):
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_own(value: ast.expr, good: set[str]) -> bool:
    """Return whether a text is written out, in upper case, or no str any more."""
    match value:
        case ast.Constant():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper()
        case ast.IfExp(body=body, orelse=orelse):
            return _is_own(body, good) and _is_own(orelse, good)
        case ast.Call(func=function):
            inner = function.value if isinstance(function, ast.Attribute) else function
            return _name(function) in good or _name(inner) in good
    return False


def _has_no_markup(call: ast.Call) -> bool:
    return any(
        keyword.arg == "markup"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is False
        for keyword in call.keywords
    )


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_text_not_written_out_in_the_source_is_not_read_as_markup(path: Path) -> None:
    assert complaints(path.read_text()) == []


def test_the_look_at_the_source_finds_what_it_looks_for_and_nothing_else() -> None:
    bad = ["Static(name)", "Static(f'{name} is gone')", "widget.border_title = title"]
    bad += ["self._heading = self.border_title = text", "banner.tooltip = safe(path)"]
    bad += ["Option(name)", "Content.from_markup(text)", "Static(name, markup=wanted)"]
    good = ["Static('[b]own[/]')", "Static(text, markup=False)", "Static(classes='x')"]
    good += ["self.border_title = Content(title)", "Static(WELCOME)"]
    assert all(map(complaints, bad))
    assert not any(map(complaints, good))
