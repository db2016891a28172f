"""A `ChatSession` with scripted answers and tools in memory, without a screen."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assistant.events import Decoded, Failed, Finished, ModelInfo, Origin, Stop, Token, Warned
from assistant.request import Request, Tool, ToolCall
from assistant.service import EventStream
from assistant.session.chat_session import ChatSession
from assistant.session.events import ApprovalRequested, InputRestored, NotSaved, SessionEvent
from assistant.session.tool_loop import Decision
from assistant.settings.settings import Settings
from assistant.stats import Stats
from assistant.store.store import Store
from assistant.tools.server import Server
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import (
    OfferedTool,
    ServerReport,
    ServerSettings,
    ToolResult,
    ToolSettings,
)

NO_FIGURES = Stats("ars")
MODEL = ModelInfo("target", "tiny", Path("tiny.gguf"), 512)
READ = ToolCall("disk__read", '{"path": "sky.txt"}', "call_1")
LIST = ToolCall("disk__list", "{}", "call_2")


def offered(name: str, read_only: bool = True) -> OfferedTool:
    return OfferedTool(Tool(name, f"It is {name}.", "{}"), "disk", read_only, f"of {name}")


class Box(Server):
    """A server of two tools in memory; calls last until they are cancelled while it `holds`."""

    def __init__(self) -> None:
        super().__init__(ServerSettings("disk", "true"))
        self.tools = [offered("disk__read"), offered("disk__list", read_only=False)]
        self.called: list[str] = []
        self.result: ToolResult | None = None
        self.holds = False

    async def list_tools(self) -> tuple[OfferedTool, ...]:
        return tuple(self.tools)

    async def call(self, allowed: OfferedTool, arguments: dict[str, Any]) -> ToolResult | None:
        if allowed not in self.tools:
            return None
        self.called.append(allowed.tool.name)
        if self.holds:
            await asyncio.Event().wait()
        return self.result or ToolResult(f"{allowed.tool.name} returned")

    def report(self) -> ServerReport:
        return ServerReport("disk", "ready", "", tuple(self.tools), "")


@dataclass
class ScriptedSession:
    """A session whose engine answers what a test has it answer."""

    store: Store | None = field(default_factory=lambda: Store(None))
    rounds: int = 8
    answers_at_limit: bool = False
    with_tools: bool = False
    names: tuple[str, ...] = ()
    settings: Settings = field(default_factory=Settings)
    make_request: Callable[[], Request] = lambda: Request(())
    events: list[Any] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    stopped: int = 0  # how often the engine was told to stop

    def __post_init__(self) -> None:
        self.box = Box()
        folders = (Path("/"),) if self.with_tools else ()
        self.tools = ToolSet(ToolSettings(folders, self.rounds), names=self.names)
        self.tools.servers = {"disk": self.box}
        self.session = ChatSession(
            self.events.append,
            self.do,
            self.start,
            self.store,
            self.tools,
            self.make_request,
            answers_at_limit=self.answers_at_limit,
            settings=lambda: self.settings,
        )
        self.session.ready(MODEL)

    def do(self, request: Request) -> EventStream:
        assert not self.session.responses.under_way, "one answer at a time"
        self.requests.append(request)
        self.stream = EventStream(request, self.obey)
        return self.stream

    def obey(self, stream: EventStream, order: object) -> None:
        self.stopped += 1

    def start(self, coroutine: Any) -> None:
        self.running = asyncio.ensure_future(coroutine)

    def emitted(self, kind: type[SessionEvent]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def roles(self) -> str:
        return "".join(record.role[0] for record in self.session.branch.records)

    @property
    def contents(self) -> list[str]:
        return [record.content for record in self.session.branch.records]

    @property
    def notes(self) -> list[str]:
        reasons = [event.reason for event in self.emitted(NotSaved)]
        return [note.text for note in self.emitted(Warned)] + reasons

    @property
    def restored_inputs(self) -> list[str]:
        return [each.text for each in self.emitted(InputRestored)]

    @property
    def stored(self) -> list[tuple[str, str, str]]:
        """Role, state and content of what is stored of this conversation."""
        assert self.store is not None
        number = self.session.branch.conversation
        path = self.store.path(number) if number is not None else ()
        return [(record.role, record.state, record.content) for record in path]

    async def rest(self) -> None:
        """Wait until nothing more happens by itself."""
        for _ in range(50):
            await asyncio.sleep(0)
        if self.running.done():
            self.running.result()

    async def ask(
        self, text: str, *answers: "Iterable[ToolCall] | str", decision: Decision | None = None
    ) -> None:
        """Ask, and give answers: a text, or calls, about which is decided; each must be wanted."""
        self.session.submit(text)
        await self.rest()
        for answer in answers:
            await self.answer(answer)
        if decision:
            await self.decide(decision)

    async def answer(self, answer: "Iterable[ToolCall] | str") -> None:
        await self.rest()
        if isinstance(answer, str):
            await self.decode(answer)
            await self.finish(answer)
        else:
            await self.finish("", calls=tuple(answer))

    async def decode(self, text: str) -> None:
        token = Token(65, text, Origin.TARGET, None, 1.0, None)
        await self.handle(Decoded((token,), (), 0, 1, Stats("ars")))

    async def finish(
        self, text: str, stop: Stop = Stop.STOP_TOKEN, calls=(), complete=True, stats=NO_FIGURES
    ):
        ids = (65,) if text else ()
        await self.handle(Finished(text, ids, stop, stats, complete, "", calls), last=True)

    async def fail(self, message: str = "The engine's process ended.") -> None:
        await self.handle(Failed(message, "ModelError"), last=True)

    async def handle(self, event: object, last: bool = False) -> None:
        """Put an event of the engine into the stream, and wait until it is handled."""
        self.stream.put(event, last)
        await self.rest()

    async def decide(self, decision: Decision) -> None:
        """Decide the call that is asked about."""
        self.session.tool_loop.resolve_approval(decision)
        await self.rest()

    @property
    def asked(self) -> list[str]:
        """The names of the calls that were asked about."""
        return [each.call.name for each in self.emitted(ApprovalRequested)]
