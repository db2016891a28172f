"""What was said so far and what is being answered: the chat without its keys."""

from assistant.events import Decoded, Failed, Finished, Prepared, Stop
from assistant.request import Message, Mode, Request
from tui.figures import figures
from tui.settings import Settings
from tui.widgets.answer import Answer
from tui.widgets.conversation import Conversation
from tui.widgets.turns import UserTurn

MARKS = {
    Stop.STOP_TOKEN: "",
    Stop.STOP_STRING: "",
    Stop.CANCELLED: "stopped",
    Stop.LENGTH: "cut at the length limit",
    Stop.CONTEXT: "cut: the context is full",
}


class Dialogue:
    """Keep the messages in step with the conversation on the screen.

    A turn that came to nothing leaves the messages again; its text is handed back, never dropped.
    """

    def __init__(self, view: Conversation, settings: Settings) -> None:
        self._view = view
        self._settings = settings
        self.messages = self._opening()
        self.busy = False
        """Whether the engine works on an answer, also on one that nobody waits for any more."""
        self._turn: UserTurn | None = None
        self._answer: Answer | None = None

    @property
    def awaited(self) -> Answer | None:
        """The answer under way, if somebody still waits for it."""
        return self._answer

    @property
    def begun(self) -> bool:
        """Whether there is anything to forget."""
        return self._answer is not None or any(m.role != "system" for m in self.messages)

    def ask(self, turn: UserTurn, mode: Mode) -> Request:
        """Begin an answer; return what the engine needs for it."""
        turn.remove_class("waiting")
        self.busy, self._turn, self._answer = True, turn, self._view.begin()
        return Request(
            messages=(*self.messages, Message("user", turn.text)),
            sampling=self._settings.sampling,
            mode=mode,
            lookahead=self._settings.lookahead,
            max_tokens=self._settings.max_tokens,
            seed=self._settings.seed,
        )

    def prepared(self, event: Prepared) -> None:
        """Say what the prompt lacks."""
        if self._answer is None:
            return
        if event.dropped_turns:
            note = f"Left out, to fit the context: the oldest turns ({event.dropped_turns})."
            self._view.note(note, "warning", self._answer)

    def decoded(self, event: Decoded) -> None:
        """Show one round."""
        if self._answer is not None:
            self._answer.add(event.tokens)

    def finished(self, event: Finished) -> str | None:
        """Keep the answer; return the prompt when it was stopped before its first word."""
        turn, answer = self._close()
        if turn is None or answer is None:
            return None
        if event.stop is Stop.CANCELLED and not event.text:
            answer.remove()
            turn.add_class("unanswered")
            return turn.text
        reply = Message("assistant", event.text, event.token_ids)
        self.messages = (*self.messages, Message("user", turn.text), reply)
        answer.finish(_footnote(event))
        return None

    def failed(self, event: Failed) -> str | None:
        """Say what went wrong; return the prompt, so that it can be sent again."""
        turn, answer = self._close()
        if turn is None or answer is None:
            return None
        answer.finish("not kept")
        if not answer.tokens:
            answer.remove()
        turn.add_class("unanswered")
        self._view.note(event.message, "error")
        return turn.text

    def forget(self) -> None:
        """Begin anew; what the engine still says about the old answer is ignored."""
        self._turn = self._answer = None
        self.messages = self._opening()
        self._view.clear()

    def forget_tokens(self) -> None:
        """Keep the words alone: token ids mean nothing to another model."""
        self.messages = tuple(Message(m.role, m.content) for m in self.messages)

    def _opening(self) -> tuple[Message, ...]:
        system = self._settings.system
        return (Message("system", system),) if system else ()

    def _close(self) -> tuple[UserTurn | None, Answer | None]:
        turn, answer = self._turn, self._answer
        self.busy, self._turn, self._answer = False, None, None
        return turn, answer


def _footnote(event: Finished) -> str:
    mark = MARKS[event.stop]
    parts = [mark] if mark else []
    if not event.text:
        parts.append("the model ended its turn without a word")
    return " · ".join([*parts, *figures(event.stats)])
