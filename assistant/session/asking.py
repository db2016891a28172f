"""What the engine is asked: to answer the end of the path, or what may follow it."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from assistant.events import Finished, ModelInfo, Stop, Trace
from assistant.request import Message, Request
from assistant.service import EventStream
from assistant.session.answering import Answering, AnswerSoFar
from assistant.session.calling import Calling
from assistant.session.events import Noted, Tell
from assistant.session.messages import (
    ECHO,
    joined,
    messages_of,
    open_calls,
    repeated_files,
    without_more_calls,
)
from assistant.session.shown_path import ShownPath
from assistant.store.values import Attachment, Record


class Asking:
    """Have the engine answer the end of the path; its answer is kept as it comes.

    Arguments are as for `Talk`.
    """

    def __init__(
        self,
        tell: Tell,
        do: Callable[[Request], EventStream],
        path: ShownPath,
        calls: Calling,
        answering: Answering,
        asks: Callable[[], Request],
    ) -> None:
        self._tell, self._do, self._asks = tell, do, asks
        self._path, self._calls, self._answering = path, calls, answering
        self.model: ModelInfo | None = None
        """The target that answers; None: none is loaded."""
        self.expects_model = True
        """Whether a model is being looked for or loaded."""
        self.stream: EventStream | None = None
        """That of the answer under way."""

    def expect_model(self) -> None:
        """Note that a model is being looked for or loaded."""
        self.model, self.expects_model = None, True

    def race(self, text: str, attachments: Sequence[Attachment] = ()) -> Request | None:
        """Return what a race answers: `text` after the path, or else the last question."""
        path = self._path.records
        if joined(text, attachments):
            path = (*path, _question(text, attachments))
        while path and path[-1].role != "user":
            path = path[:-1]
        if not path:
            return None
        request = self._request(path)
        return replace(request, stored=False, tools=())

    def next(
        self, text: str, attachments: Sequence[Attachment] = (), instead_of: Record | None = None
    ) -> Request | None:
        """Return what would be asked if `text` were sent now, or once a call has returned.

        None: that is not known, because no tools were listed yet.
        """
        if self._calls.wanted and not self._calls.tools.known:
            return None
        path = self._path.records
        if instead_of is not None:
            path = path[: [record.id for record in path].index(instead_of.id)]
        calls = open_calls(path)
        if calls and path[-1].role == "tool":
            return self._request(path)
        if calls:
            return self._request(path, added=(Message("tool", "", call_id=calls[0].id),))
        return self._request((*path, _question(text, attachments)))

    async def answer(self, plainly: bool = False) -> None:
        """Have the end of the path answered; `plainly`: without tools."""
        path, name = self._path.records, self.model.name if self.model else ""
        empty = Record(0, self._path.end, "assistant", "", time.time(), "streaming", model=name)
        record = self._path.append(empty)
        if len(record.siblings) == 1 and self.model and path[-1].role == "user":
            for file in repeated_files(path, self.model.n_ctx).get(path[-1].id, ()):
                self._tell(Noted(f"{file.name} is unchanged since it was sent; not read again."))
        request = self._request(path, again=len(record.siblings) - 1)
        request = replace(request, tools=()) if plainly else request
        await self._follow(AnswerSoFar(record), request)
        said = self._path.leaf if request.tools and self._calls.live else None
        if said is not None and said.content.lstrip().startswith(ECHO):
            self._path.cut_before(said)
            self._tell(Noted("The model repeated its list of tools. It now answers without them."))
            await self.answer(plainly=True)

    async def resume(self, before: Trace) -> None:
        """Have the last answer continued, which was decoded like this `before` it was cut."""
        record = self._path.records[-1]
        self._path.claim(record, before)
        request = self._request(self._path.records)
        await self._follow(AnswerSoFar(record, before), request)

    def _request(
        self, path: Sequence[Record], again: int = 0, added: tuple[Message, ...] = ()
    ) -> Request:
        """Return what the engine needs to answer, or to continue with, the end of a path.

        `again` counts the answers there are already to the question; `added` follows the path.
        """
        asked, model = self._asks(), self.model
        name, n_ctx = (model.name, model.n_ctx) if model else ("", 0)
        messages = (*messages_of(path, self._path.system, name, n_ctx), *added)
        asked = replace(
            asked,
            messages=messages,
            seed=None if asked.seed is None else asked.seed + max(0, again),  # another answer
            stored=self._path.saves,
            tools=self._calls.tools.tools if self._calls.wanted else (),
        )
        if not self._calls.in_words:
            return asked
        return replace(asked, messages=without_more_calls(messages), tool_choice="none")

    async def _follow(self, answer: AnswerSoFar, request: Request) -> None:
        event, self._calls.live = None, False
        self.stream = self._do(request)
        self._answering.begin(answer)
        async for event in self.stream:
            self._tell(event)
            self._answering.hear(event)
            await asyncio.sleep(0)  # keys come first, however many events there are
        self.stream = None
        ended = isinstance(event, Finished) and event.stop is not Stop.CANCELLED
        self._calls.live = ended and self._path.end == answer.record.id


def _question(text: str, attachments: Sequence[Attachment]) -> Record:
    """Return a question that is not sent yet."""
    return Record(0, None, "user", text, 0.0, "complete", attachments=tuple(attachments))
