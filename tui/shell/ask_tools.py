"""The tools of `ask`: which are offered, which calls may run, and what they return."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

import click

from assistant.request import Tool, ToolCall
from assistant.tools.servers import BUILT_IN
from assistant.tools.toolbox import Tools
from assistant.tools.values import OfferedTool, Toolbox
from models.errors import UsageError
from tui.chat.tools.calls import REFUSED, STOPPED, End, access, arguments, outcome, unknown
from tui.safe import safe
from tui.settings.settings import Settings

OnCancel = Callable[[Callable[[], None]], None]
"""Is given what ends a call, for whoever hears Ctrl-C."""


class AskTools:
    """Run the calls of one command, each after it was printed on standard error and allowed.

    Args:
        names: of servers, of tools, or `files`.
        folders: that the built-in tools may read, instead of those of `config.toml`.
        yes: nothing is asked about, and only what reads may run.
        box: runs them; None makes one of the settings.

    Raises:
        UsageError: a name means nothing.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        folders: tuple[Path, ...],
        yes: bool,
        settings: Settings,
        box: Toolbox | None = None,
    ) -> None:
        self._names, known = names, settings.tools
        self.rounds = known.rounds
        self._asks = not yes and _is_terminal()
        wanted = {name.split("__")[0] for name in names}
        folders = folders or known.folders
        self._check(wanted, [each.name for each in known.servers], folders)
        servers = [each for each in known.servers if each.name in wanted]
        reads = folders if BUILT_IN in wanted else ()
        self._box = box or Tools(servers, reads, settings.offline)
        self._loop = asyncio.Runner()
        self._offered: dict[str, OfferedTool] = {}

    def _check(self, wanted: set[str], servers: list[str], folders: tuple[Path, ...]) -> None:
        if BUILT_IN in wanted and not folders:
            raise UsageError("There is no folder that may be read; name one with --folder.")
        if lacking := sorted(wanted - {BUILT_IN, *servers}):
            there = ", ".join([BUILT_IN, *servers])
            raise UsageError(f"There are no tools {lacking[0]!r}. There are: {there}.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._loop.run(self._box.close())
        finally:
            self._loop.close()

    def begin(self) -> tuple[Tool, ...]:
        """Start the servers and return the tools that were named.

        Raises:
            UsageError: one that was named is not there; the message says why.
        """
        tools = self.offered()
        there = {name for each in self._offered.values() for name in (each.server, each.tool.name)}
        for name in self._names:
            if name not in there:
                why = (
                    f" {r.problem}" for r in self._box.reports() if r.name == name.split("__")[0]
                )
                raise UsageError(f"There is no tool {name!r}.{next(why, '')}")
        return tools

    def offered(self) -> tuple[Tool, ...]:
        """Return those of the tools that were named which there are now."""
        self._offered = {
            each.tool.name: each
            for each in self._loop.run(self._box.offered())
            if each.server in self._names or each.tool.name in self._names
        }
        return tuple(each.tool for each in self._offered.values())

    def run(self, call: ToolCall, on_cancel: OnCancel) -> tuple[End, float]:
        """Show a call and, if it may run, run it; return how it ended, and after how long.

        `on_cancel` is given what ends it early.
        """
        tool = self._offered.get(call.name)
        given = [f"  {name}: {value}" for name, value in arguments(call)]
        click.echo(safe("\n".join([f"Call of {call.name}", *given])), err=True)
        if tool is None:
            return unknown(call.name), 0.0
        if not self._is_allowed(tool):
            click.echo(f"Refused. {safe(access(tool))}", err=True)
            return REFUSED, 0.0
        began = monotonic()
        end = self._loop.run(self._call(call, on_cancel))
        took = monotonic() - began
        click.echo(f"{end[1]}: {len(end[0]):,} characters · {took:.1f} s", err=True)
        return end, took

    def _is_allowed(self, tool: OfferedTool) -> bool:
        if not self._asks:
            return tool.read_only
        click.echo(safe(access(tool)), err=True)
        return click.confirm("Run it?", default=False, err=True)

    async def _call(self, call: ToolCall, on_cancel: OnCancel) -> End:
        task, loop = asyncio.ensure_future(self._box.call(call)), asyncio.get_running_loop()

        def cancel() -> None:
            loop.call_soon_threadsafe(task.cancel)

        on_cancel(cancel)
        try:
            return outcome(await task)
        except asyncio.CancelledError:
            return STOPPED


def _is_terminal() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())
