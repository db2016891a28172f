"""The tools that read folders: only the folders that the user named."""

import asyncio
import json
import os
from itertools import repeat
from pathlib import Path
from threading import Event

import pytest

from assistant.tools import files, folders
from assistant.tools.files import FILE_BYTES
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import RESULT_CHARACTERS, ToolResult, ToolSettings
from tests.assistant.tools.toolboxes import call
from tests.patience import WAIT_S


@pytest.fixture
def folder(tmp_path):
    """A folder with something of each kind, next to a secret."""
    (tmp_path / "secret").write_text("the secret")
    inside = tmp_path / "inside"
    (inside / "deep" / ".git").mkdir(parents=True)
    (inside / "deep" / "b.txt").write_text("one\nTwo needles\nthree\n")
    (inside / "deep" / ".git" / "hidden").write_text("needle")
    (inside / "a.py").write_text("first\nneedle = 1\n")
    (inside / "picture").write_bytes(b"\x89PNG\0needle")
    (inside / "out").symlink_to(tmp_path / "secret")
    (inside / "away").symlink_to(tmp_path)
    (inside / "same").symlink_to(inside / "a.py")
    os.mkfifo(inside / "fifo")
    (tmp_path / "inside2").mkdir()
    (tmp_path / "inside2" / "x").write_text("the secret")
    return inside


async def use(roots: Path | list[Path], what: str, **arguments: object) -> ToolResult:
    tools = ToolSet(ToolSettings((roots,) if isinstance(roots, Path) else tuple(roots)))
    return await call(tools, f"files__{what}", json.dumps(arguments))


async def test_without_a_folder_there_are_no_such_tools():
    tools = ToolSet(ToolSettings())
    await tools.refresh()
    assert (tools.offered, tools.reports()) == ({}, ())


async def test_all_are_read_only_and_an_approval_is_for_the_folders(folder, tmp_path):
    before = await files.Files([folder]).list_tools()
    after = await files.Files([folder, tmp_path / "more"]).list_tools()
    assert [each.tool.name for each in before] == ["files__read", "files__list", "files__search"]
    assert all(each.read_only for each in before)
    assert not {each.fingerprint for each in before} & {each.fingerprint for each in after}


async def test_half_a_character_in_a_path_or_a_name_is_no_error(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("hello")
    own = files.Files([tmp_path])
    read, list_, _ = await own.list_tools()
    assert (wrong := await own.call(read, {"path": "\ud800"}))
    assert (wrong.state, "not valid Unicode" in wrong.text) == ("failed", True)
    assert await own.call(list_, {}) == ToolResult("caf\ufffd.txt (5 bytes)")
    assert await own.call(read, {"path": os.fsdecode(b"caf\xe9.txt")}) == ToolResult("hello")


async def test_a_file_is_read_whole_or_in_part(folder):
    assert (await use(folder, "read", path="a.py")).text == "first\nneedle = 1\n"
    assert (await use(folder, "read", path=str(folder / "a.py"))).text == "first\nneedle = 1\n"
    part = await use(folder, "read", path="deep/b.txt", first_line=2, lines=1)
    assert part.text == "Two needles"


OUTSIDE = (
    "../secret", "{folder}2/x", "deep/../../secret", "/etc/passwd", "out", "away/secret", "same",
    "~/x",
)  # fmt: skip
NO_FILE = ("", "a.py/b", "fifo", "/dev/zero", "/proc/self/environ", "a\0b", "deep", "missing")


@pytest.mark.parametrize("path", [*OUTSIDE, *NO_FILE])
async def test_nothing_else_is_read(folder, path):
    path = path.format(folder=folder)
    result = await use(folder, "read", path=path)
    assert result.state == "failed"
    assert "secret" not in result.text.replace(path, "")


async def test_a_folder_is_named_by_a_link_but_not_left_by_one(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert (await use(tmp_path / "link", "read", path="a.py")).text.startswith("first")


async def test_a_binary_file_is_named_and_a_huge_one_is_read_to_a_bound(folder):
    with (folder / "huge").open("wb") as file:
        file.write(b"a" * FILE_BYTES)
        file.truncate(1 << 40)
    assert "picture is not text" in (await use(folder, "read", path="picture")).text
    result = await use(folder, "read", path="huge")
    assert result.text.startswith("a" * RESULT_CHARACTERS + "\n[988,0")


async def test_a_list_shows_what_is_there_and_what_cannot_be_read(folder):
    shown = (await use(folder, "list")).text
    assert shown == (
        "a.py (17 bytes)\naway [link]\ndeep/\nfifo [no file]\nout [link]\n"
        "picture (11 bytes)\nsame [link]"
    )


async def test_a_search_finds_lines_in_texts_that_may_be_read(folder):
    found = (await use(folder, "search", text="NEEDLE")).text
    assert found == f"{folder}/a.py:2: needle = 1\n{folder}/deep/b.txt:2: Two needles"
    assert (await use(folder, "search", text="needle", path="deep")).text.count("\n") == 0
    assert (await use(folder, "search", text="nowhere")).text == "[nothing found]"
    assert (await use(folder, "search", text="(a+)+$")).text == "[nothing found]"  # no pattern


async def test_a_search_ends_with_its_time(folder, monkeypatch):
    monkeypatch.setattr(files, "SEARCH_S", -1.0)
    assert "[stopped after" in (await use(folder, "search", text="needle")).text


async def test_a_search_that_is_cancelled_stops(folder, monkeypatch):
    monkeypatch.setattr(files, "SEARCH_S", 1e9)
    began, ended = Event(), Event()

    def walk(*_):
        began.set()
        try:
            yield from repeat("missing")
        finally:
            ended.set()

    monkeypatch.setattr(files.Files, "_walk", walk)
    searching = asyncio.create_task(use(folder, "search", text="needle"))
    assert await asyncio.to_thread(began.wait, WAIT_S)
    searching.cancel()
    assert await asyncio.to_thread(ended.wait, WAIT_S)


async def test_with_two_folders_a_path_has_to_be_chosen(folder, tmp_path):
    roots = [folder, tmp_path / "other"]
    assert str(tmp_path / "other") in (await use(roots, "list")).text
    assert (await use(roots, "read", path="a.py")).state == "failed"
    assert (await use(roots, "read", path=str(folder / "a.py"))).text.startswith("first")


@pytest.mark.parametrize(
    "arguments",
    [
        "{}", "[" * 9999, '{"path": 1}', '{"path": "a.py", "lines": true}',
        '{"path": "a.py", "first_line": 0}', '{"path": "a.py", "other": 1}',
    ],
)  # fmt: skip
async def test_arguments_that_do_not_fit_are_a_failure(folder, arguments):
    result = await call(ToolSet(ToolSettings((folder,))), "files__read", arguments)
    assert result.state == "failed"


async def test_a_list_names_a_file_that_vanishes_meanwhile(folder, monkeypatch):
    def gone(found: int) -> list[os.DirEntry[str]]:
        here = folders.entries(found)
        (folder / "a.py").unlink()
        return here

    monkeypatch.setattr(files, "entries", gone)
    listed = (await use(folder, "list")).text
    assert "a.py [gone]" in listed
    assert "deep/" in listed
