"""A conversation with a scripted engine and scripted tools, and no screen."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assistant.events import Decoded, Failed, Finished, ModelInfo, Origin, Stop, Token
from assistant.request import Request, Tool, ToolCall
from assistant.stats import Stats
from assistant.store import Store
from assistant.talk.effects import (
    AskEngine,
    CallWaits,
    Effect,
    GivenBack,
    LearnTools,
    Noted,
    NotSaved,
    RunCall,
)
from assistant.talk.talk import Talk
from assistant.talk.tool_set import ToolSet, ToolSettings
from assistant.tools.approvals import Approval
from assistant.tools.values import OfferedTool, ServerReport, ToolResult

MODEL = ModelInfo("target", "tiny", Path("tiny.gguf"), 1, 512, 300, 0.0)
READ = ToolCall("disk__read", '{"path": "sky.txt"}', "call_1")
LIST = ToolCall("disk__list", "{}", "call_2")


def offered(name: str) -> OfferedTool:
    return OfferedTool(Tool(name, f"It is {name}.", "{}"), "disk", True, f"of {name}")


class Box:
    """Two tools in memory."""

    def __init__(self) -> None:
        self.tools = [offered("disk__read"), offered("disk__list")]

    async def offered(self) -> tuple[OfferedTool, ...]:
        return tuple(self.tools)

    async def call(self, call: ToolCall, allowed: OfferedTool) -> ToolResult | None:
        return ToolResult(f"{call.name} returned") if allowed in self.tools else None

    def reports(self) -> tuple[ServerReport, ...]:
        return (ServerReport("disk", "ready", "", tuple(self.tools), ""),)

    async def close(self) -> None: ...


class Approved:
    """What may run unasked, in memory."""

    def __init__(self) -> None:
        self.allowed: dict[str, Approval] = {}

    def approved(self, tool: OfferedTool, conversation: int) -> Approval | None:
        return self.allowed.get(tool.fingerprint)

    def allow(self, tool: OfferedTool, how: Approval, conversation: int) -> None:
        self.allowed[tool.fingerprint] = how

    def revoke(self, tool: OfferedTool) -> None:
        del self.allowed[tool.fingerprint]


@dataclass
class Stage:
    """Has a talk, and does what it says only when a test wants it done."""

    store: Store | None = field(default_factory=lambda: Store(None))
    rounds: int = 8
    goes_on: bool = False
    with_tools: bool = False
    asks: Callable[[], Request] = lambda: Request(())
    effects: list[Effect] = field(default_factory=list)

    def __post_init__(self) -> None:
        box = Box() if self.with_tools else None
        self.tools = ToolSet(ToolSettings(rounds=self.rounds), box=box, approvals=Approved())
        self.talk = Talk(
            self.effects.append, self.store, self.tools, self.asks, goes_on=self.goes_on
        )
        self.talk.ready(MODEL)

    def told(self, kind: type[Effect]) -> list[Any]:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    @property
    def requests(self) -> list[Request]:
        return [effect.request for effect in self.told(AskEngine)]

    @property
    def roles(self) -> str:
        return "".join(record.role[0] for record in self.talk.path.records)

    @property
    def notes(self) -> list[str]:
        return [each.text for each in self.told(Noted)] + [e.reason for e in self.told(NotSaved)]

    @property
    def given_back(self) -> list[str]:
        return [each.text for each in self.told(GivenBack)]

    @property
    def stored(self) -> list[tuple[str, str, str]]:
        """Role, state and content of what is stored of this conversation."""
        assert self.store is not None
        number = self.talk.path.conversation
        path = self.store.path(number) if number is not None else ()
        return [(record.role, record.state, record.content) for record in path]

    async def learn(self) -> None:
        """Learn the tools, if that is wanted."""
        if self.told(LearnTools):
            await self.tools.learn()
            self.talk.tools_learned()

    async def ask(self, text: str = "Why?", *answers: "Iterable[ToolCall] | str") -> None:
        """Ask, and give answers: a text, or calls; each answer must be wanted."""
        self.talk.say(text)
        for answer in answers:
            await self.answer(answer)

    async def answer(self, answer: "Iterable[ToolCall] | str") -> None:
        await self.learn()
        if isinstance(answer, str):
            self.decode(answer)
            self.finish(answer)
        else:
            self.finish("", calls=tuple(answer))

    def decode(self, text: str, number: int = 0) -> None:
        token = Token(65, text, Origin.TARGET, None, 1.0, None)
        event = Decoded((token,), (), 0, 1, Stats("ars"))
        self.talk.hear(event)

    def finish(self, text: str, stop: Stop = Stop.STOP_TOKEN, calls=(), complete=True) -> None:
        ids = (65,) if text else ()
        self.talk.hear(Finished(text, ids, stop, Stats("ars"), complete, "", calls))
        self.talk.job_over()

    def fail(self, message: str = "The engine's process ended.") -> None:
        self.talk.hear(Failed(message, "ModelError"))
        self.talk.job_over()

    @property
    def asked(self) -> list[str]:
        """The names of the calls that were asked about."""
        return [each.call.name for each in self.told(CallWaits)]

    @property
    def ran(self) -> list[str]:
        """The names of the calls that were to run."""
        return [each.call.name for each in self.told(RunCall)]

    async def run(self) -> None:
        """Run the call that is to run."""
        effect = self.told(RunCall)[-1]
        end = await self.tools.call(effect.call, effect.tool, self.talk.path.conversation)
        self.talk.returned(end, 0.5)


__all__ = ["LIST", "READ", "Stage"]
