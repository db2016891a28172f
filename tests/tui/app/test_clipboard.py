"""Copying to the clipboard, with real programs instead of clipboard tools."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.chat.prompt_driver import at_the_prompt
from tui.app import clipboard
from tui.app.clipboard import code_blocks, copy, usable_tool


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for tools on a machine that has none, at a display."""
    for variable in ("SSH_CONNECTION", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "TERMUX_VERSION"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def install(tools: Path, name: str, script: str) -> None:
    (tools / name).write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    (tools / name).chmod(0o755)


async def test_selection_is_copied_with_the_tool(tools: Path) -> None:
    install(tools, "xclip", f'echo "$@" > {tools}/how; cat > {tools}/copied; echo 1; echo 2 >&2')
    async with at_the_prompt() as typist:
        await typist.type("höh\nx")
        await typist.pilot.press("shift+up", "ctrl+c")
        await typist.until(lambda: typist.notices)
        assert typist.notices == ["Copied 4 characters."]
        assert (tools / "copied").read_text() == "öh\nx"
        assert (tools / "how").read_text() == "-selection clipboard\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 1", "xclip failed with exit code 1. "),
        ("exec sleep 60", "xclip did not answer. "),
        (None, ""),
    ],
)
async def test_without_a_working_tool_the_terminal_is_asked(
    tools: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, reason: str
) -> None:
    if script == "exec sleep 60":
        monkeypatch.setattr(clipboard, "CLIPBOARD_TIMEOUT_S", 0.2)
    if script:
        install(tools, "xclip", script)
    async with at_the_prompt() as typist:
        notice = await copy("text", typist.app.copy_to_clipboard)
        assert typist.app.clipboard == "text"
    assert notice == f"{reason}Copied 4 characters, if your terminal allows it."


async def test_tool_that_cannot_run_is_named(tools: Path) -> None:
    (tools / "xclip").write_bytes(b"\x7fELF no program")
    (tools / "xclip").chmod(0o755)
    async with at_the_prompt() as typist:
        notice = await copy("text", typist.app.copy_to_clipboard)
    assert notice.startswith("xclip cannot be run: Exec format error. Copied 4 characters")


async def test_no_text_is_not_copied_and_half_a_character_is(tools: Path) -> None:
    async with at_the_prompt() as typist:
        to_terminal = typist.app.copy_to_clipboard
        assert await copy("", to_terminal) == "There is nothing to copy."
        assert (await copy("\ud800", to_terminal)).startswith("Copied 1 character,")


def test_tool_that_does_not_reach_the_user_is_not_used(tools: Path) -> None:
    for name in ("pbcopy", "xclip", "wl-copy"):
        install(tools, name, "cat > /dev/null")
    environment = dict(os.environ)

    def tool(**changes: str) -> str | None:
        found = usable_tool({**environment, **changes})
        return found.command[0] if found else None

    assert tool() == "pbcopy"
    assert tool(SSH_CONNECTION="x", DISPLAY="") is None
    assert tool(SSH_CONNECTION="x", DISPLAY="localhost:10.0") == "xclip"
    assert tool(SSH_CONNECTION="x", WAYLAND_DISPLAY="wayland-0") == "wl-copy"


TEXT = """Try this:

```python
print("a")

```

1. and then

   ~~~
   b
   ~~~

> ```
> quoted
> ```

    indented

`inline` ```` ``` ````

```
open"""


def test_code_blocks_are_found_wherever_they_are() -> None:
    assert code_blocks(TEXT) == ('print("a")\n', "b", "quoted", "indented", "open")
    assert code_blocks("no code") == ()


@given(st.lists(st.text(alphabet="ab\t \\&;*_<>|\u00a0é", max_size=20), min_size=1, max_size=5))
def test_a_code_block_is_copied_to_the_byte(lines: list[str]) -> None:
    code = "\n".join(lines)
    assert code_blocks(f"<div>\nIt is:\n```go\n{code}\n```\n</div>") == (code,)
