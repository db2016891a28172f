"""The built-in tools: read a file, list a folder, search one."""

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

from assistant.request import Tool
from assistant.streamed_text import decode
from assistant.tools.folders import Folders, UnreadablePath, entries, is_folder
from assistant.tools.values import BUILT_IN, OfferedTool, ServerReport, ToolResult, tool_result
from models.errors import UsageError, well_formed

FILE_BYTES = 1_000_000  # of a file that are read
SEARCH_S = 10.0  # that a search may take
MATCHES = 200  # lines that a search returns
_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": 1}
_TOOLS: dict[str, tuple[str, dict[str, object], list[str]]] = {
    "read": (
        "Read a text file.",
        {"path": _TEXT, "first_line": _NUMBER, "lines": _NUMBER},
        ["path"],
    ),
    "list": ("List a folder: its files with their sizes, and its folders.", {"path": _TEXT}, []),
    "search": (
        "Search the files of a folder, and of all within it, for lines that contain a text; upper "
        "and lower case are the same. Hidden files and folders are left out.",
        {"text": _TEXT, "path": _TEXT},
        ["text"],
    ),
}


class Files:
    """The built-in tools, for the folders that the user named; used as a `Server` is."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = Folders(folders)
        self._tools = tuple(map(self._offered, _TOOLS))

    async def list_tools(self) -> tuple[OfferedTool, ...]:
        """Return the tools."""
        return self._tools

    def report(self) -> ServerReport:
        """Return their state: they are always ready."""
        return ServerReport(BUILT_IN, "ready", "", self._tools, "")

    async def stop(self) -> None:
        """Do nothing: no process runs."""

    async def call(self, allowed: OfferedTool, arguments: dict[str, Any]) -> ToolResult | None:
        """Call a tool; an error is a failed result. None: it is allowed for other folders."""
        if allowed not in self._tools:
            return None
        what = allowed.tool.name.removeprefix(f"{BUILT_IN}__")
        _, known, required = _TOOLS[what]
        wrong = [key for key, value in arguments.items() if not _fits(value, known.get(key))]
        if missing := [key for key in required if key not in arguments] + wrong:
            return tool_result(f"These arguments are missing or wrong: {missing}.", failed=True)
        stop = Event()
        work: Callable[..., str] = getattr(self, f"_{what}")
        try:
            return tool_result(await asyncio.to_thread(work, stop, **arguments))
        except UnreadablePath as error:
            return tool_result(str(error), failed=True)
        finally:
            stop.set()

    def _offered(self, name: str) -> OfferedTool:
        what, properties, required = _TOOLS[name]
        folders = ", ".join(map(str, self._folders.roots))
        description = f"{what} Folders that may be read: {folders}"
        schema = json.dumps({"type": "object", "properties": properties, "required": required})
        fingerprint = hashlib.sha256(os.fsencode(f"{name} {description} {schema}")).hexdigest()
        tool = Tool(f"{BUILT_IN}__{name}", well_formed(description), schema)
        return OfferedTool(tool, BUILT_IN, read_only=True, fingerprint=fingerprint)

    def _read(self, stop: Event, path: str, first_line: int = 1, lines: int = 1_000_000) -> str:
        with self._folders.open(path) as file:
            if is_folder(file):
                raise UnreadablePath(f"{path} is a folder: list it.")
            content, size = _content(file, path), os.fstat(file).st_size
        chosen = content.split("\n")[first_line - 1 : first_line - 1 + lines]
        cut = f"\n[only the first {FILE_BYTES:,} of {size:,} bytes were read]"
        return "\n".join(chosen) + (cut if size > FILE_BYTES else "")

    def _list(self, stop: Event, path: str = "") -> str:
        with self._folders.open(self._folder(path)) as folder:
            if not is_folder(folder):
                raise UnreadablePath(f"{path} is a file: read it.")
            return "\n".join(map(_entry, entries(folder))) or "[empty]"

    def _search(self, stop: Event, text: str, path: str = "") -> str:
        if not text.strip():
            raise UnreadablePath("There is no text to search for.")
        lines: list[str] = []
        ends, wanted = monotonic() + SEARCH_S, text.casefold()
        folder = self._folder(path)
        for name in self._walk(folder):
            if stop.is_set() or monotonic() > ends or len(lines) >= MATCHES:
                lines.append(f"[stopped after {SEARCH_S:g} s or {MATCHES} lines: search less]")
                break
            lines += self._matches(name, wanted)
        return "\n".join(lines) or "[nothing found]"

    def _matches(self, name: str, wanted: str) -> list[str]:
        try:
            with self._folders.open(name) as file:
                content = "" if is_folder(file) else _content(file, name)
        except UnreadablePath:
            return []
        return [
            f"{name}:{number}: {line.strip()[:300]}"
            for number, line in enumerate(content.split("\n"), 1)
            if wanted in line.casefold()
        ]

    def _walk(self, root: str) -> Iterator[str]:
        """Yield the paths in a folder, also of its folders, so that a caller can stop early."""
        waiting = [root]
        while waiting:
            path = waiting.pop()
            yield path
            try:
                with self._folders.open(path) as folder:
                    listed = entries(folder) if is_folder(folder) else []
                    inner = {os.path.join(path, entry.name): entry.is_dir(follow_symlinks=False)
                             for entry in listed if not entry.name.startswith(".")}  # fmt: skip
            except UnreadablePath:
                if path == root:
                    raise
                continue
            yield from (name for name, is_dir in inner.items() if not is_dir)
            waiting += [name for name in reversed(inner) if inner[name]]

    def _folder(self, path: str) -> str:
        if not path and len(self._folders.roots) > 1:
            raise UnreadablePath(f"Choose a path: {', '.join(map(str, self._folders.roots))}.")
        return path or str(self._folders.roots[0])


def _content(file: int, path: str) -> str:
    """Return the text of an open file, at most `FILE_BYTES` of it; UnreadablePath if it is none."""
    with os.fdopen(file, "rb", closefd=False) as opened:
        content = opened.read(FILE_BYTES)
    try:
        return decode(content, path, is_cut=len(content) == FILE_BYTES).text
    except UsageError as error:
        raise UnreadablePath(str(error)) from error


def _entry(entry: os.DirEntry[str]) -> str:
    if entry.is_dir(follow_symlinks=False):
        return f"{entry.name}/"
    if entry.is_file(follow_symlinks=False):
        with suppress(FileNotFoundError):
            return f"{entry.name} ({entry.stat(follow_symlinks=False).st_size:,} bytes)"
        return f"{entry.name} [gone]"
    return f"{entry.name} [{'link' if entry.is_symlink() else 'no file'}]"


def _fits(value: object, wanted: object) -> bool:
    if wanted == _NUMBER:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return wanted == _TEXT and isinstance(value, str)
