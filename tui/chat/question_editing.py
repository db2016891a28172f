"""A question that is being changed: in the prompt, to be asked anew in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistant.store import Record
    from tui.chat.screen import ChatScreen

HEADING = "Enter asks it anew, on a branch of its own · Esc leaves it"


class QuestionEditing:
    """Change one earlier question at a time; a change that is left is there when one comes back."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._original = ""  # what was in the prompt before anything was changed
        self.question: Record | None = None
        """What the prompt's text is to replace."""

    def begin(self, question: Record) -> None:
        """Put a question into the prompt, or what had become of it when it was last left."""
        self.leave()
        prompt = self._screen.prompt
        self._screen.unfinished.go(question.id)
        if not prompt.state():
            prompt.give_back(question.content, question.attachments)
            self._original = prompt.state()
        self.question = question
        prompt.head(HEADING)
        prompt.focus()
        self._screen.refresh_bindings()

    def leave(self) -> None:
        """Leave the question as it was; nothing that was typed is lost."""
        question, self.question = self.question, None
        if question is None:
            return
        original, self._original = self._original, ""
        changed = self._screen.prompt.state() not in ("", original)
        self._screen.unfinished.go()
        if changed:
            hint = "Your change is kept; e on that message goes on with it."
            self._screen.notify(hint, timeout=5, markup=False)
        else:
            self._screen.unfinished.forget(question.id)
        self._end()

    def sent(self) -> Record | None:
        """End the change because it was sent; return what it replaces, if that is still shown."""
        question, self.question, self._original = self.question, None, ""
        self._end()
        # It may have been deleted, or another branch chosen, since it was put into the prompt.
        return question if question and self._screen.dialogue.shows(question) else None

    def _end(self) -> None:
        self._screen.prompt.head("")
        self._screen.refresh_bindings()
