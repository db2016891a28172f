"""Approvals: a tool runs unasked only as the user approved it, and never when in doubt."""

import stat
import subprocess
import sys
from dataclasses import replace

import pytest

from assistant.request import Tool
from assistant.tools.toolbox import Approvals
from assistant.tools.values import OfferedTool
from models.errors import StorageError
from tests import ROOT

TOOL = OfferedTool(Tool("srv__go", "goes", "{}"), "srv", False, "f1")
CHANGED = replace(TOOL, fingerprint="f2")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "approvals.json"


def test_an_approval_for_a_conversation_is_for_no_other_and_for_no_other_run(path):
    approvals = Approvals(path)
    approvals.allow(TOOL, "conversation", 1)
    assert approvals.approval(TOOL, 1) == "conversation"
    assert approvals.approval(TOOL, 2) is None
    assert Approvals(path).approval(TOOL, 1) is None
    assert not path.exists()


def test_an_approval_for_always_is_on_disk_for_the_user_alone(path):
    Approvals(path).allow(TOOL, "always", 1)
    assert Approvals(path).approval(TOOL, 2) == "always"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("how", ["conversation", "always"])
def test_a_tool_that_changed_is_another_tool(path, how):
    approvals = Approvals(path)
    approvals.allow(TOOL, how, 1)
    assert approvals.approval(CHANGED, 1) is None
    assert approvals.approval(replace(TOOL, tool=Tool("srv2__go", "goes", "{}")), 1) is None
    approvals.allow(CHANGED, how, 1)
    assert approvals.approval(CHANGED, 1) == how
    if how == "always":  # the tool that it was is forgotten
        assert approvals.approval(TOOL, 1) is None


def test_an_approval_revoked_in_one_window_is_revoked_in_all(path):
    first, second = Approvals(path), Approvals(path)
    first.allow(TOOL, "always", 1)
    first.allow(TOOL, "conversation", 1)
    assert second.approval(TOOL, 1) == "always"
    first.revoke(CHANGED)  # whatever it was before
    assert first.approval(TOOL, 1) is None
    assert second.approval(TOOL, 1) is None


ALLOWING = """
import sys
from pathlib import Path
from assistant.request import Tool
from assistant.tools.toolbox import Approvals
from assistant.tools.values import OfferedTool
approvals = Approvals(Path(sys.argv[1]))
for number in range(60):
    tool = Tool(f"srv__{sys.argv[2]}{number}", "", "{}")
    approvals.allow(OfferedTool(tool, "srv", False, "f"), "always", 1)
    print(number, flush=True)
"""


def test_windows_that_allow_tools_at_once_lose_no_approval_and_bring_no_revoked_one_back(path):
    approvals = Approvals(path)
    approvals.allow(TOOL, "always", 1)
    commands = [[sys.executable, "-c", ALLOWING, str(path), name] for name in "ab"]
    windows = [subprocess.Popen(each, cwd=ROOT, stdout=subprocess.PIPE) for each in commands]
    for window in windows:
        assert (window.stdout and window.stdout.readline()) == b"0\n"
    approvals.revoke(TOOL)  # while both are writing
    assert [len(window.communicate()[0].split()) for window in windows] == [59, 59]
    names = {f"srv__{name}{number}" for name in "ab" for number in range(60)}
    others = [OfferedTool(Tool(name, "", "{}"), "srv", False, "f") for name in names]
    assert {approvals.approval(each, 1) for each in others} == {"always"}
    assert approvals.approval(TOOL, 1) is None


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"[" * 9999,
        b'{"always": [{"server": "srv"}]}',
        b'{"always": [{"server": ["srv"], "tool": "srv__go", "fingerprint": "f1"}]}',
    ],
)
def test_a_damaged_file_approves_nothing_and_is_kept(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    approvals = Approvals(path)
    assert approvals.approval(TOOL, 1) is None
    approvals.allow(TOOL, "always", 1)
    assert approvals.approval(TOOL, 1) == "always"
    assert path.with_suffix(".damaged").read_bytes() == content


def test_an_approval_that_cannot_be_stored_is_none(path):
    path.parent.write_text("a file, not a folder")
    approvals = Approvals(path)
    with pytest.raises(StorageError, match="cannot be written"):
        approvals.allow(TOOL, "always", 1)
    assert approvals.approval(TOOL, 1) is None
