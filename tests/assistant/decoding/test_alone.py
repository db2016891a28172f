"""`assistant.decoding` is a library of its own: it needs numpy, and nothing else of ours."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import ROOT
from tests.patience import WAIT_S

DECODING = ROOT / "assistant/decoding"
FILES = sorted(DECODING.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, wherever in it."""
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    whole = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return whole | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_decoding_imports_numpy_and_itself_and_only_the_lookahead_imports_the_lookahead(path):
    own = "assistant.decoding"
    others = {
        name for name in imported(path) if name.partition(".")[0] not in sys.stdlib_module_names
    }
    assert {name for name in others if not name.startswith((own, "numpy"))} == set()
    if "lookahead" not in path.parts:
        assert not {name for name in others if name.startswith(f"{own}.lookahead")}


def test_each_module_of_the_decoding_library_can_be_imported_alone(tmp_path):
    """In a folder into which only this room was copied; without site no checkout is known."""
    shutil.copytree(DECODING, tmp_path / "assistant/decoding")
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in FILES]
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import {', '.join(modules)}"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(np.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stderr
