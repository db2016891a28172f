"""The tools of `ask`: which are offered, and which calls may run."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

import click

from assistant.request import ToolCall
from assistant.talk.calls import WAS_STOPPED
from assistant.talk.effects import CallWaits, RunCall
from assistant.talk.tool_set import ToolSet
from assistant.tools.approvals import Approval
from assistant.tools.servers import BUILT_IN
from assistant.tools.toolbox import Tools
from assistant.tools.values import OfferedTool, ServerReport, Toolbox, ToolResult
from models.errors import UsageError
from tui.chat.tools.call_text import access, arguments
from tui.safe import safe
from tui.settings.settings import Settings

OnCancel = Callable[[Callable[[], None]], None]
"""Is given what ends a call, for Ctrl-C."""


class NamedTools:
    """Those tools of a box whose names, or their servers', were given."""

    def __init__(self, box: Toolbox, names: tuple[str, ...]) -> None:
        self._box, self._names = box, names

    async def offered(self) -> tuple[OfferedTool, ...]:
        """Return those that were named.

        Raises:
            UsageError: one that was named is not there; the message says why.
        """
        found = await self._box.offered()
        there = {name for each in found for name in (each.server, each.tool.name)}
        for name in self._names:
            if name not in there:
                server = name.split("__")[0]
                why = (f" {each.problem}" for each in self.reports() if each.name == server)
                raise UsageError(f"There is no tool {name!r}.{next(why, '')}")
        return tuple(
            each for each in found if each.server in self._names or each.tool.name in self._names
        )

    async def call(self, call: ToolCall, allowed: OfferedTool) -> ToolResult | None:
        """Call a tool; None: it has changed since it was allowed."""
        return await self._box.call(call, allowed)

    def reports(self) -> tuple[ServerReport, ...]:
        """Return how each server is."""
        return self._box.reports()

    async def close(self) -> None:
        """Stop all servers."""
        await self._box.close()


class NothingApproved:
    """Have each call decided when it comes."""

    def approved(self, tool: OfferedTool, conversation: int) -> Approval | None:
        """Return that it has to be decided."""
        return None

    def allow(self, tool: OfferedTool, how: Approval, conversation: int) -> None:
        """Remember nothing."""

    def revoke(self, tool: OfferedTool) -> None:
        """Remember nothing."""


class AskTools:
    """Run the calls of one command, each after it was printed on standard error and allowed.

    Args:
        names: of servers, of tools, or `files`.
        folders: that the built-in tools may read, instead of those of `config.toml`.
        yes: nothing is asked about, and only what reads may run.

    Raises:
        UsageError: a name means nothing.
    """

    def __init__(
        self, names: tuple[str, ...], folders: tuple[Path, ...], yes: bool, settings: Settings
    ) -> None:
        known = settings.tools
        self._asks = not yes and _is_terminal()
        wanted = {name.split("__")[0] for name in names}
        folders = folders or known.folders
        if BUILT_IN in wanted and not folders:
            raise UsageError("There is no folder that may be read; name one with --folder.")
        there = [BUILT_IN, *(each.name for each in known.servers)]
        if lacking := sorted(wanted.difference(there)):
            raise UsageError(f"There are no tools {lacking[0]!r}. There are: {', '.join(there)}.")
        servers = [each for each in known.servers if each.name in wanted]
        box = Tools(servers, folders if BUILT_IN in wanted else (), settings.offline)
        self.set = ToolSet(
            known, settings.offline, NamedTools(box, names), approvals=NothingApproved()
        )
        """Those that were named."""
        self._loop = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._loop.run(self.set.close())
        finally:
            self._loop.close()

    def learn(self) -> None:
        """Start the servers and learn which tools there are.

        Raises:
            UsageError: one that was named is not there; the message says why.
        """
        self._loop.run(self.set.learn())

    def is_allowed(self, waits: CallWaits) -> bool:
        """Show a call and its arguments; say whether it may run."""
        call, tool = waits.call, waits.tool
        given = [f"  {name}: {value}" for name, value in arguments(call)]
        click.echo(safe("\n".join([f"Call of {call.name}", *given])), err=True)
        if not self._asks and tool.read_only:
            return True
        click.echo(safe(access(tool)) if self._asks else f"Refused. {safe(access(tool))}", err=True)
        return self._asks and click.confirm("Run it?", default=False, err=True)

    def run(
        self, effect: RunCall, conversation: int | None, on_cancel: OnCancel
    ) -> tuple[ToolResult | None, float]:
        """Run a call; return how it ended, and after how many seconds.

        `on_cancel` is given what ends it early.
        """
        began = monotonic()
        end = self._loop.run(self._call(effect, conversation, on_cancel))
        took = monotonic() - began
        if end is not None:
            click.echo(f"{end.state}: {len(end.text):,} characters · {took:.1f} s", err=True)
        return end, took

    async def _call(
        self, effect: RunCall, conversation: int | None, on_cancel: OnCancel
    ) -> ToolResult | None:
        called = self.set.call(effect.call, effect.tool, conversation)
        task, loop = asyncio.ensure_future(called), asyncio.get_running_loop()

        def cancel() -> None:
            loop.call_soon_threadsafe(task.cancel)

        on_cancel(cancel)
        try:
            return await task
        except asyncio.CancelledError:
            return WAS_STOPPED


def _is_terminal() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())
