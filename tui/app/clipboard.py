"""The clipboard of the user's desktop, or else of the terminal."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from textual.widget import Widget

from tui.labels import plural

CLIPBOARD_TIMEOUT_S = 2.0
"""Seconds a tool may take: generous, but a tool that waits for a display must not block us."""


@dataclass(frozen=True, slots=True)
class CopyCommand:
    """A program that puts its input onto the clipboard."""

    command: tuple[str, ...]
    variable: str = ""  # the variable that is set where it works
    encoding: str = "utf-8"


TOOLS = (
    CopyCommand(("pbcopy",)),
    CopyCommand(("wl-copy",), "WAYLAND_DISPLAY"),
    CopyCommand(("xclip", "-selection", "clipboard"), "DISPLAY"),
    CopyCommand(("xsel", "--clipboard", "--input"), "DISPLAY"),
    CopyCommand(("clip.exe",), "WSL_DISTRO_NAME", "utf-16-le"),
    CopyCommand(("termux-clipboard-set",), "TERMUX_VERSION"),
)


async def copy(text: str, to_terminal: Callable[[str], None], what: str = "") -> str:
    """Copy a text; return a sentence that says whether it worked, and what was copied.

    Where no tool reaches the user's desktop, `to_terminal` asks the terminal to copy.
    """
    if not text:
        return "There is nothing to copy."
    tool, message = usable_tool(os.environ), f"Copied {what or plural(len(text), 'character')}"
    reason = await asyncio.to_thread(_pass_text, tool, text) if tool else ""
    if tool and not reason:
        return f"{message}."
    to_terminal(text.encode("utf-8", "replace").decode())
    return f"{reason} {message}, if your terminal allows it.".strip()


def copy_and_notify(widget: Widget, text: str, what: str = "") -> None:
    """Copy a text in the background, and show a toast with the result."""

    async def notify() -> None:
        to_terminal = widget.app.copy_to_clipboard
        widget.notify(await copy(text, to_terminal, what), timeout=4)

    widget.app.run_worker(notify(), group="clipboard", exit_on_error=False)


def usable_tool(environment: Mapping[str, str]) -> CopyCommand | None:
    """Return the first installed tool that reaches the clipboard of the user's desktop."""
    is_here = not environment.get("SSH_CONNECTION")  # else these are the other machine's
    for tool in TOOLS:
        works = environment.get(tool.variable) if tool.variable else is_here
        if works and shutil.which(tool.command[0], path=environment.get("PATH")):
            return tool
    return None


def _pass_text(tool: CopyCommand, text: str) -> str:
    """Pass a text to a tool; return why that failed, or nothing."""
    name = tool.command[0]
    try:
        process = subprocess.run(
            tool.command,
            input=text.encode(tool.encoding, "replace"),
            stdout=subprocess.DEVNULL,  # a tool that keeps running would keep a pipe open
            stderr=subprocess.DEVNULL,
            timeout=CLIPBOARD_TIMEOUT_S,
            check=False,
            env={**os.environ, "LC_CTYPE": "UTF-8"} if name == "pbcopy" else None,
        )
    except subprocess.TimeoutExpired:
        return f"{name} did not answer."
    except OSError as error:
        return f"{name} cannot be run: {error.strerror}."
    return f"{name} failed with exit code {process.returncode}." if process.returncode else ""


def code_blocks(markdown: str) -> tuple[str, ...]:
    """Return the code blocks of a text in order, without their fences, as they were written."""
    from tui.text.markdown_reading import parser  # after the first frame: 15 ms

    blocks = parser().parse(markdown)
    code = (block.content for block in blocks if block.type in ("fence", "code_block"))
    return tuple(text.removesuffix("\n") for text in code)
