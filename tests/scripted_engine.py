"""An engine that decodes with real models and emits the texts of a script instead of theirs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from dataclasses import replace as changed
from typing import Any

from msgspec import structs

from assistant.engine.engine import HANDLERS
from assistant.events import Decoded, Finished, Stop
from assistant.request import AnyJob, Request, ToolCall
from assistant.service import EventStream
from tests.in_process_engine import InProcessEngine


@dataclass
class Script:
    """The next answers, and the requests that they answered."""

    texts: Iterable[str] = ()
    """The texts of the next answers; those after them are the model's."""
    calls: list[tuple[ToolCall, ...]] = field(default_factory=list)
    """The calls of the next answers that end a job."""
    token: dict[str, Any] = field(default_factory=dict)
    """Fields of the one token that holds a text."""
    stop: Stop | None = None
    requests: list[Request] = field(default_factory=list)


class ScriptedEngine(InProcessEngine):
    """An engine in this process whose events have the texts and calls of a script."""

    def __init__(self, script: Script | None = None) -> None:
        super().__init__(HANDLERS)
        self.script = script or Script()
        self.jobs: list[AnyJob] = []
        self._texts: Iterator[str] = iter(self.script.texts)
        self._text: str | None = None
        self._is_first = True

    @property
    def requests(self) -> list[Request]:
        return self.script.requests

    def do(self, job: AnyJob) -> EventStream:
        self.jobs.append(job)
        if isinstance(job, Request):
            self.requests.append(job)
            self._text, self._is_first = next(self._texts, None), True
        return super().do(job)

    def replace_event(self, event: Any, last: bool) -> Any:
        if isinstance(event, Decoded) and event.tokens and self._text is not None:
            text, self._is_first = self._text if self._is_first else "", False
            token = changed(event.tokens[0], text=text, **self.script.token)
            return structs.replace(event, tokens=(token,))
        if isinstance(event, Finished) and last:
            fields: dict[str, Any] = {} if self._text is None else {"text": self._text}
            if self.script.stop:
                fields["stop"] = self.script.stop
            if self.script.calls:
                fields["tool_calls"] = self.script.calls.pop(0)
            return structs.replace(event, **fields)
        return event
