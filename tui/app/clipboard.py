"""The system's clipboard and browser, if the user can see them, and what became of each use."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from textual.app import App
from textual.widget import Widget

from tui.figures import counted
from tui.safe import safe

CLIPBOARD_TIMEOUT_S = 2.0
"""Seconds a tool may take: generous, but a tool that waits for a display must not block us."""
WEB = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)
"""What may be opened; URL parsers would skip tabs."""
DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
"""Variables, one of which is set if a browser can open a window."""


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


async def copy(app: App[Any], text: str) -> str:
    """Copy a text; return a sentence that says whether it worked."""
    if not text:
        return "There is nothing to copy."
    tool, copied = usable(os.environ), f"Copied {counted(len(text), 'character')}"
    reason = await asyncio.to_thread(run, tool, text) if tool else ""
    if tool and not reason:
        return f"{copied}."
    app.copy_to_clipboard(text.encode("utf-8", "replace").decode())
    return f"{reason} {copied} (if your terminal allows it).".strip()


def copy_and_say(widget: Widget, text: str, what: str = "") -> None:
    """Copy a text in the background, and say in a toast whether it worked."""

    async def say() -> None:
        widget.notify(what + await copy(widget.app, text), timeout=4, markup=False)

    widget.app.run_worker(say(), group="clipboard", exit_on_error=False)


def usable(environment: Mapping[str, str]) -> CopyCommand | None:
    """Return the first tool that reaches the user's own clipboard, if any."""
    for tool in TOOLS:
        if tool.variable:
            works = bool(environment.get(tool.variable))
        else:  # over SSH the clipboard would be the other machine's
            works = not environment.get("SSH_CONNECTION")
        if works and shutil.which(tool.command[0], path=environment.get("PATH")):
            return tool
    return None


def run(tool: CopyCommand, text: str) -> str:
    """Give a text to a tool; return why that failed, or nothing."""
    name = tool.command[0]
    try:
        done = subprocess.run(
            tool.command,
            input=text.encode(tool.encoding, "replace"),
            stdout=subprocess.DEVNULL,  # a tool that stays would keep a pipe open
            stderr=subprocess.DEVNULL,
            timeout=CLIPBOARD_TIMEOUT_S,
            check=False,
            env={**os.environ, "LC_CTYPE": "UTF-8"} if name == "pbcopy" else None,
        )
    except subprocess.TimeoutExpired:
        return f"{name} did not answer."
    except OSError as error:
        return f"{name} cannot be run: {error.strerror}."
    return f"{name} failed with exit code {done.returncode}." if done.returncode else ""


def open_address(widget: Widget, address: str) -> None:
    """Open an address that the user has read; where that is not possible, copy it."""
    if not WEB.fullmatch(address):
        text = f"This is not a web address: {safe(address)}"
        widget.notify(text, severity="warning", markup=False)
    elif has_window(os.environ, sys.platform):
        widget.app.open_url(address)
        widget.notify(f"Opening in your browser: {safe(address)}", markup=False)
    else:  # a browser for terminals would paint over this one
        widget.notify("There is no browser here, so the address was copied.", timeout=4)
        copy_and_say(widget, address)


def has_window(environment: Mapping[str, str], platform: str) -> bool:
    """Return whether a browser would open a window that the user can see."""
    if environment.get("SSH_CONNECTION"):
        return False
    return platform in ("darwin", "win32") or any(environment.get(name) for name in DESKTOP)


def code_blocks(markdown: str) -> tuple[str, ...]:
    """Return the code blocks of a text in order, without their fences, as they were written."""
    from tui.chat.conversation.markdown_reading import parser  # after the first frame: 15 ms

    blocks = parser().disable("normalize").parse(markdown)
    code = (block.content for block in blocks if block.type in ("fence", "code_block"))
    return tuple(text.removesuffix("\n") for text in code)
