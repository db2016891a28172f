"""Copying: the system's clipboard tool first, the terminal next, and an honest word on it."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from textual.app import App
from textual.widget import Widget

PATIENCE = 2.0
"""Seconds a tool may take, which is long: a tool that waits for a display must not hold us up."""
CUT = 74_000
"""Bytes above which many terminals drop what they are sent."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that puts its input onto the clipboard."""

    command: tuple[str, ...]
    variable: str = ""  # what the environment says where it works
    encoding: str = "utf-8"


TOOLS = (
    Tool(("pbcopy",)),
    Tool(("wl-copy",), "WAYLAND_DISPLAY"),
    Tool(("xclip", "-selection", "clipboard"), "DISPLAY"),
    Tool(("xsel", "--clipboard", "--input"), "DISPLAY"),
    Tool(("clip.exe",), "WSL_DISTRO_NAME", "utf-16-le"),
    Tool(("termux-clipboard-set",), "TERMUX_VERSION"),
)


async def copy(app: App[Any], text: str) -> str:
    """Copy a text; return the sentence that says what came of it."""
    if not text:
        return "There is nothing to copy."
    tool = usable(os.environ)
    reason = await asyncio.to_thread(run, tool, text) if tool else ""
    if tool and not reason:
        return f"Copied {_characters(text)}."
    sent = text.encode("utf-8", "replace")
    app.copy_to_clipboard(sent.decode())
    return " ".join(filter(None, (reason, _sent(len(sent), text))))


def copy_and_say(widget: Widget, text: str, what: str = "") -> None:
    """Copy a text and say in a toast what came of it, without anybody waiting for it."""

    async def say() -> None:
        widget.notify(what + await copy(widget.app, text), timeout=4, markup=False)

    widget.app.run_worker(say(), group="clipboard", exit_on_error=False)


def usable(environment: Mapping[str, str]) -> Tool | None:
    """Return the first tool that reaches the clipboard in front of the person, if one does."""
    for tool in TOOLS:
        if tool.variable:
            works = bool(environment.get(tool.variable))
        else:  # over SSH the clipboard would be the other machine's
            works = not environment.get("SSH_CONNECTION")
        if works and shutil.which(tool.command[0], path=environment.get("PATH")):
            return tool
    return None


def run(tool: Tool, text: str) -> str:
    """Give a text to a tool; return why that failed, or nothing."""
    name = tool.command[0]
    try:
        done = subprocess.run(
            tool.command,
            input=text.encode(tool.encoding, "replace"),
            stdout=subprocess.DEVNULL,  # a tool that stays would keep a pipe open
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, "LC_CTYPE": "UTF-8"} if name == "pbcopy" else None,
        )
    except subprocess.TimeoutExpired:
        return f"{name} did not answer."
    except OSError as error:
        return f"{name} cannot be run: {error.strerror}."
    return f"{name} failed with exit code {done.returncode}." if done.returncode else ""


def code_blocks(markdown: str) -> tuple[str, ...]:
    """Return the code blocks of a text in order, without their fences, as they were written."""
    from tui.chat.conversation.markdown_reading import (
        parser,  # 15 ms that the first frame need not wait
    )

    blocks = parser().disable("normalize").parse(markdown)
    return tuple(
        block.content.removesuffix("\n")
        for block in blocks
        if block.type in ("fence", "code_block")
    )


def _sent(size: int, text: str) -> str:
    if size * 4 / 3 > CUT:
        hint = f"which may ignore it or cut it after {CUT // 1000} kB (OSC 52)"
    else:
        hint = "which may ignore it (OSC 52)"
    return f"Sent {_characters(text)} to the terminal, {hint}."


def _characters(text: str) -> str:
    return f"{len(text):,} character{'s' * (len(text) != 1)}"
