"""The tools that questions are offered, and the conversations that have them."""

from typing import TYPE_CHECKING

from assistant.request import Tool, ToolCall
from assistant.session.messages import unknown
from assistant.tools.approvals import Approval, Approvals
from assistant.tools.values import OfferedTool, ToolResult, ToolSettings
from models.errors import UsageError
from models.files.places import data_dir

if TYPE_CHECKING:  # no server is started before a question needs it
    from assistant.tools.toolbox import Toolbox


class ToolSet:
    """Know the tools, which conversations have them, and what is approved.

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
        there = {name for each in found for name in (each.server, each.tool.name)}
        for name in self._names:
            if name not in there:
                server = name.split("__")[0]
                why = [e.problem for e in self.box.reports() if e.name == server and e.problem]
                raise UsageError(" ".join([f"No tools are called {name!r}.", *why]))
        self._offered = {
            each.tool.name: each
            for each in found
            if not self._names or {*self._names} & {each.server, each.tool.name}
        }
        self.known = True

    async def call(self, call: ToolCall, allowed: OfferedTool) -> ToolResult | None:
        """Run a call that was allowed; None: its tool has changed since."""
        if self.find(call.name) is None:
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
        reports = (report for report in self.box.reports() if report.problem)
        found = [f"Tool server {report.name}: {report.problem}" for report in reports]
        new = [text for text in found if text not in self._reported]
        self._reported.update(new)
        return new

    def find(self, name: str) -> OfferedTool | None:
        """Return a tool that is offered."""
        return self._offered.get(name)

    def approved(self, tool: OfferedTool, conversation: int | None) -> Approval | None:
        """Return how a tool was approved; a conversation without a number has approved nothing."""
        if self._names:
            return None
        return self.approvals.approved(tool, -1 if conversation is None else conversation)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are offered, as requests have them."""
        return tuple(tool.tool for tool in self._offered.values())
