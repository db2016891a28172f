"""The tools that a conversation's questions are offered: those there are, less what is off."""

from typing import TYPE_CHECKING

from assistant.request import Tool, ToolCall
from assistant.talk.messages import unknown
from assistant.tools.approvals import Approval, Approvals
from assistant.tools.values import OfferedTool, ServerReport, ToolResult, ToolSettings
from models.errors import UsageError
from models.files.places import data_dir

if TYPE_CHECKING:  # no server is started before a question needs it
    from assistant.tools.toolbox import Toolbox


class ToolSet:
    """Know the tools, which of them a conversation has switched off, and what is approved.

    Args:
        names: of servers and tools: only these are offered, and each call is asked about.
        asked_for: whether a conversation has none until it wants them.
    """

    def __init__(
        self,
        settings: ToolSettings,
        offline: bool = False,
        names: tuple[str, ...] = (),
        box: "Toolbox | None" = None,
        asked_for: bool = False,
    ) -> None:
        self.settings, self._offline, self._names = settings, offline, names
        self._box, self.asked_for = box, asked_for
        self.approvals = Approvals(data_dir() / "approvals.json")
        """What may run without being asked about again."""
        self._offered: dict[str, OfferedTool] = {}
        self.known = False
        """Whether it was asked yet which tools there are."""
        self._off: dict[int | None, set[str]] = {}  # names of servers and tools
        self.on: dict[int | None, bool] = {}
        """Which conversations were said to have tools, or none."""
        self._reported: set[str] = set()  # problems of servers

    @property
    def any(self) -> bool:
        """Whether there may be a tool."""
        return self._box is not None or bool(self.settings)

    def wanted(self, conversation: int | None, unless_said: bool = False) -> bool:
        """Whether a conversation has tools."""
        return self.any and self.on.get(conversation, unless_said or not self.asked_for)

    @property
    def box(self) -> "Toolbox":
        """What runs them; made when it is first needed."""
        if self._box is None:
            from assistant.tools.toolbox import Toolbox

            self._box = Toolbox(self.settings.servers, self.settings.folders, self._offline)
        return self._box

    async def learn(self) -> None:
        """Learn which tools there are now; servers are started for that.

        Raises:
            UsageError: one that was named is not there; the message says why.
        """
        found = await self.box.offered()
        there = {name for each in found for name in _names(each)}
        for name in self._names:
            if name not in there:
                server = name.split("__")[0]
                why = [e.problem for e in self.box.reports() if e.name == server and e.problem]
                raise UsageError(" ".join([f"No tools are called {name!r}.", *why]))
        wanted = [each for each in found if not self._names or {*self._names} & {*_names(each)}]
        self._offered = {each.tool.name: each for each in wanted}
        self.known = True

    async def call(
        self, call: ToolCall, allowed: OfferedTool, conversation: int | None
    ) -> ToolResult | None:
        """Run a call that was allowed; None: its tool has changed since."""
        if self.find(call.name, conversation) is None:
            return unknown(call.name)
        if (result := await self.box.call(call, allowed)) is None:
            await self.learn()
        return result

    async def close(self) -> None:
        """Stop all servers."""
        if self._box is not None:
            await self._box.close()

    def new_problems(self) -> list[str]:
        """Return why servers failed, each once."""
        reports = (each for each in self.box.reports() if each.problem)
        found = [f"Tool server {each.name}: {each.problem}" for each in reports]
        new = [text for text in found if text not in self._reported]
        self._reported.update(new)
        return new

    def find(self, name: str, conversation: int | None) -> OfferedTool | None:
        """Return a tool that a conversation is offered."""
        tool = self._offered.get(name)
        return tool if tool is not None and self.is_on(tool, conversation) else None

    def approved(self, tool: OfferedTool, conversation: int | None) -> Approval | None:
        """Return how a tool was approved; a conversation without a number has approved nothing."""
        if self._names:
            return None
        return self.approvals.approved(tool, -1 if conversation is None else conversation)

    def tools(self, conversation: int | None) -> tuple[Tool, ...]:
        """Return the tools that a conversation is offered, as its requests have them."""
        return tuple(each.tool for each in self._offered.values() if self.is_on(each, conversation))

    def is_on(self, what: OfferedTool | ServerReport, conversation: int | None) -> bool:
        """Whether a tool, or all of a server's, is offered to a conversation."""
        return not self._off.get(conversation, set()) & set(_names(what))

    def switch(self, what: OfferedTool | ServerReport, conversation: int | None) -> None:
        """Offer a tool or a server to a conversation no longer, or again."""
        off = self._off.setdefault(conversation, set())
        off ^= {_names(what)[-1]}

    def adopt(self, conversation: int | None) -> None:
        """Give a conversation that was just made what was switched before it had a number."""
        if None in self._off:
            self._off[conversation] = self._off.pop(None)
        if None in self.on:
            self.on[conversation] = self.on.pop(None)


def _names(what: OfferedTool | ServerReport) -> list[str]:
    """Return what can be switched off for it: its server's name, then its own."""
    return [what.server, what.tool.name] if isinstance(what, OfferedTool) else [what.name]
