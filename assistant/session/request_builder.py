"""The requests to the engine: to answer the end of the branch, or what may follow it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from assistant.events import Finished, ModelInfo, Stop, Trace, Warned
from assistant.request import Message, Request
from assistant.service import EventStream
from assistant.session import messages
from assistant.session.active_branch import ActiveBranch
from assistant.session.events import Emit
from assistant.session.response_handler import PartialAnswer, ResponseHandler
from assistant.session.tool_loop import ToolLoop
from assistant.store.values import Attachment, StoredMessage


class RequestBuilder:
    """Have the engine answer the end of the branch; the answer is saved as it comes."""

    def __init__(
        self,
        emit: Emit,
        do: Callable[[Request], EventStream],
        branch: ActiveBranch,
        tool_loop: ToolLoop,
        responses: ResponseHandler,
        make_request: Callable[[], Request],
    ) -> None:
        self._emit, self._do, self._make_request = emit, do, make_request
        self._branch, self._tool_loop, self._responses = branch, tool_loop, responses
        self.model: ModelInfo | None = None
        """The target that answers; None: none is loaded."""
        self.expects_model = True
        """Whether a model is being looked for or loaded."""
        self.stream = EventStream(Request(()), lambda stream, order: None)
        """The stream of the last answer; after its end, it ignores orders."""

    def expect_model(self) -> None:
        """Note that a model is being looked for or loaded."""
        self.model, self.expects_model = None, True

    def race(self, text: str, attachments: Sequence[Attachment] = ()) -> Request | None:
        """Return the request of a race: `text` after the path, or else the last question."""
        path = self._branch.records
        if messages.join_message(text, attachments):
            path = (*path, self._branch.question(text, attachments))
        while path and path[-1].role != "user":
            path = path[:-1]
        if not path:
            return None
        return replace(self._request(path), stored=False, tools=())

    def next(
        self, text: str, attachments: Sequence[Attachment] = (), edits: StoredMessage | None = None
    ) -> Request | None:
        """Return the request that would follow if `text` were sent now, or a call returned.

        None: it is not known, because no tools were listed yet.
        """
        if self._tool_loop.enabled and not self._tool_loop.tools.is_listed:
            return None
        path = self._branch.records
        if edits is not None:
            path = path[: [record.id for record in path].index(edits.id)]
        tool_calls = messages.open_calls(path)
        if tool_calls and path[-1].role == "tool":
            return self._request(path)
        if tool_calls:
            return self._request(path, Message("tool", "", call_id=tool_calls[0].id))
        return self._request((*path, self._branch.question(text, attachments)))

    async def answer(self, plainly: bool = False) -> None:
        """Have the end of the branch answered; `plainly`: without tools."""
        path = self._branch.records
        record = self._branch.append_empty("assistant", self.model.name if self.model else "")
        if len(record.siblings) == 1 and self.model and path[-1].role == "user":
            for file in messages.repeated_files(path, self.model.n_ctx).get(path[-1].id, ()):
                self._emit(Warned(f"{file.name} is unchanged since it was sent; not read again."))
        request = self._request(path)
        if request.seed is not None:  # another answer has another seed
            request = replace(request, seed=request.seed + len(record.siblings) - 1)
        if plainly:
            request = replace(request, tools=())
        await self._follow(PartialAnswer(record), request)
        reply = self._branch.leaf if request.tools and self._tool_loop.may_auto_run else None
        if reply is not None and reply.content.lstrip().startswith(messages.ECHO):
            self._branch.cut_before(reply)
            self._emit(Warned("The model repeated its list of tools. It now answers without them."))
            await self.answer(plainly=True)

    async def resume(self, before: Trace) -> None:
        """Have the last answer continued; `before` is its trace until it was cut."""
        record = self._branch.records[-1]
        # No other program continues it now.
        self._branch.update(replace(record, state="streaming"), before)
        request = self._request(self._branch.records)
        await self._follow(PartialAnswer(record, before), request)

    def _request(self, path: Sequence[StoredMessage], *following: Message) -> Request:
        """Return the request to answer the end of a path and what follows, or to continue it."""
        request = self._make_request()
        name, n_ctx = (self.model.name, self.model.n_ctx) if self.model else ("", 0)
        turns = messages.messages_of(path, self._branch.system, name, n_ctx, request.dated)
        request = replace(
            request,
            messages=(*turns, *following),
            stored=self._branch.saves,
            tools=self._tool_loop.tools.tools if self._tool_loop.enabled else (),
        )
        if not self._tool_loop.is_exhausted:
            return request
        turns = messages.without_more_calls(request.messages)
        return replace(request, messages=turns, tool_choice="none")

    async def _follow(self, answer: PartialAnswer, request: Request) -> None:
        self._tool_loop.may_auto_run = False
        event = None
        self.stream = self._do(request)
        self._responses.start(answer)
        async for event in self.stream:
            if not isinstance(event, Warned):  # a conversation shows each warning once
                self._emit(event)
            self._responses.handle(event)
            await asyncio.sleep(0)  # keys come first, however many events there are
        ended = isinstance(event, Finished) and event.stop is not Stop.CANCELLED
        self._tool_loop.may_auto_run = ended and self._branch.end == answer.record.id
