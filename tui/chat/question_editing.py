"""Changing an earlier question, in the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.talk.unsent_text import UnsentText

if TYPE_CHECKING:
    from assistant.store import Record
    from assistant.talk.talk import Talk
    from tui.chat.prompt.prompt import Prompt

HEADING = "Enter asks it again, on a new branch · Esc cancels"


class QuestionEditing:
    """Change one earlier question at a time; a change that is left is there when one comes back."""

    def __init__(self, prompt: Prompt, talk: Talk, unsent: UnsentText) -> None:
        self._prompt, self._talk, self._unsent = prompt, talk, unsent
        self._original = ""  # what was in the prompt before anything was changed
        self.question: Record | None = None
        """What the prompt's text is to replace."""

    def begin(self, question: Record) -> None:
        """Put a question into the prompt, or what had become of it when it was last left."""
        self.leave()
        self._unsent.go(question.id)
        if not self._prompt.state():
            self._prompt.give_back(question.content, question.attachments)
            self._original = self._prompt.state()
        self.question = question
        self._prompt.head(HEADING)
        self._prompt.focus()
        self._prompt.refresh_bindings()

    def leave(self) -> None:
        """Leave the question as it was; nothing that was typed is lost."""
        question, self.question = self.question, None
        if question is None:
            return
        original, self._original = self._original, ""
        changed = self._prompt.state() not in ("", original)
        self._unsent.go()
        if changed:
            hint = "Your change is kept; e on that message continues it."
            self._prompt.notify(hint, timeout=5, markup=False)
        else:
            self._unsent.forget(question.id)
        self._end()

    def sent(self) -> Record | None:
        """End the change because it was sent; return what it replaces, if that is still shown."""
        question, self.question, self._original = self.question, None, ""
        self._end()
        # It may have been deleted, or another branch chosen, since it was put into the prompt.
        return question if question and self._talk.path.shows(question) else None

    def _end(self) -> None:
        self._prompt.head("")
        self._prompt.refresh_bindings()
