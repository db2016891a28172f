"""The chat: what the user does, and what the engine says, reach the session and the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from assistant.events import Finished, Ready, Stop
from assistant.request import Request
from assistant.session.chat_session import ChatSession
from assistant.session.events import (
    Added,
    AnswerEnded,
    ApprovalRequested,
    Changed,
    FullyAnswered,
    SessionEvent,
)
from assistant.session.folder_retriever import FolderRetriever
from assistant.session.unsent_text import UnsentText
from assistant.settings.settings import Settings
from assistant.store.values import Attachment, StoredMessage
from assistant.tools.toolbox import ToolSet
from models.errors import StorageError
from tui.chat.chat_models import ChatModels
from tui.chat.layout import ChatLayout
from tui.chat.prompt.waiting_line import Unsent
from tui.chat.talk_view import TalkView
from tui.safe import safe

if TYPE_CHECKING:
    from tui.app.program import Program

ALTERNATIVES = 5
"""Alternatives of each row to report with each token, for the inspector."""
LONG_S = 10.0
"""Seconds after which the end of an answer is worth a bell: others are waited for."""


class ChatController:
    """Stand between the parts of the chat, its session and the engine of the program."""

    def __init__(self, parts: ChatLayout, settings: Settings, program: Program) -> None:
        self.parts, self._program = parts, program
        self.settings = settings
        """What counts now."""
        self.session = ChatSession(
            self._take,
            program.do,
            program.begin,
            tools=ToolSet(settings.tools, settings.offline, opt_in=True),
            make_request=self._make_request,
            folders=FolderRetriever(self._take, lambda: self.settings),
        )
        self.view = TalkView(parts, self.session)
        """What there is to be seen of it."""
        self.unsent = UnsentText(parts.prompt, self.session.branch)
        """What is in the prompt, here and elsewhere."""
        self.models = ChatModels(self.view, self.unsent, program, lambda: self.settings, self._take)
        self._began = 0.0  # when the answer or the call under way did
        self._leaves = False  # whether the program ends, and nothing is shown any more

    def apply(self, settings: Settings) -> None:
        """Continue with other settings, from the next round or answer on."""
        self.settings, view = settings, self.parts.conversation
        view.view, view.ghosts = settings.view, settings.ghosts
        view.thoughts = settings.show_thinking
        self.parts.status.show(mode=settings.mode)
        if self.session.requests.stream is not None:
            self.session.requests.stream.update(
                settings.mode, settings.lookahead, settings.sampling
            )

    # What the user does

    def say(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Answer what the user says now, or as soon as that is possible."""
        if self.session.idle or (self.unsent.question and not self.session.waits):
            self.session.submit(text, attachments, self.unsent.replaced)
            self.unsent.sent()
        else:
            self.parts.prompt.line.add(Unsent(text, tuple(attachments)))
        self._hold_line()

    def _say_next(self) -> None:
        """Answer what has waited longest, if anything has."""
        line = self.parts.prompt.line
        if line.prompts and not self.unsent.question:
            unsent = line.take(0)
            self.say(unsent.text, unsent.attachments)

    def change(self, question: StoredMessage) -> None:
        """Put an earlier question into the prompt, to be asked again in other words."""
        self.leave_question()
        self.unsent.change(question)
        self.parts.prompt.focus()

    def leave_question(self) -> None:
        """Leave the question that is changed as it was; nothing that was typed is lost."""
        if self.unsent.leave():
            hint = "Your change is kept; press e on that message to continue it."
            self.parts.notify(hint, timeout=5, markup=False)

    def go(self, there: Callable[[], None]) -> None:
        """Show another conversation, with what is unsent in it; or say why that cannot be."""
        self.stop()
        self.leave_question()
        try:
            there()
        except StorageError as error:
            self.parts.notify(safe(str(error)), severity="error", timeout=10, markup=False)
        self.follow()

    def follow(self) -> None:
        """Show that another conversation is on the screen."""
        self.unsent.go()
        self.view.list_chats()
        self.parts.status.show(last=None)
        self.parts.panel.clear()
        self.models.read_folders()
        self.models.read_ahead()
        self.parts.refresh_bindings()

    def stop(self) -> None:
        """End the answer or the call, keep what there is, and take back a waiting prompt."""
        self.session.stop()
        self.parts.refresh_bindings()

    def leave(self) -> None:
        """Keep what is under way: the program ends."""
        self._leaves = True
        self.session.shutdown()

    # What the engine and the session say

    def _make_request(self) -> Request:
        constraint = self.parts.prompt.constraint
        return replace(self.settings.request(), constraint=constraint, alternatives=ALTERNATIVES)

    def _take(self, event: SessionEvent) -> None:
        if self._leaves:
            return
        match event:
            case Ready():
                self.models.be_ready(event)
                self.models.read_ahead()
                self.parts.refresh_bindings()
            case Finished():
                if event.stop is not Stop.CANCELLED and self.models.may_suggest:
                    self.models.suggest()
            case AnswerEnded() | ApprovalRequested():
                self.models.read_ahead()
            case FullyAnswered():
                self._say_next()
        self._ring(event)
        self.view.show(event)
        self._hold_line()

    def _ring(self, event: SessionEvent) -> None:
        """Ring for a call that waits, and at the end of a long answer: the user may be away."""
        text = ""
        match event:
            case Added(record) | Changed(record) if record.state == "streaming":
                self._began = monotonic()
            case ApprovalRequested():
                text = "A tool call is waiting for you."
            case AnswerEnded() if self.session.tool_loop.next_call is None:
                text = "The answer is complete." if monotonic() - self._began > LONG_S else ""
        if text and self.settings.notify == "auto":
            self._program.ring(text)

    def _hold_line(self) -> None:
        """Say whether something is under way after which the next in line is sent."""
        self.parts.prompt.line.held = self.session.idle and self.session.tool_loop.next_call is None
