"""The form that answers in the chat are to have: JSON by a schema, from a file."""

from typing import cast

from assistant.request import AnswerForm
from models.errors import UsageError
from tui.app.program import Program
from tui.chat.chat_controller import ChatController
from tui.chat.layout import ChatLayout
from tui.chat.prompt.attachments import one_line, read
from tui.chat.prompt.file_search import located
from tui.safe import safe
from tui.widgets.entry_screen import EntryScreen


class FormChoice:
    """Have answers in the form of a file that the user names, until the user turns it off."""

    def __init__(self, parts: ChatLayout, controller: ChatController) -> None:
        self._parts, self._controller = parts, controller

    def toggle(self) -> None:
        """Ask for the file; or let answers be as they come again."""
        if self._controller.form is None:
            screen = EntryScreen("Answer with JSON", hint="The file with a JSON Schema.")
            cast(Program, self._parts.app).open_entry(screen, self._use)
        else:
            self._controller.form = None
            self._parts.prompt.show_form("")
            self._parts.notify("Answers come as they are again.", timeout=3)

    def _use(self, name: str | None) -> None:
        if not name:
            return
        try:
            text = read(located(name, self._parts.prompt.picker.root), name).text
            self._controller.form = AnswerForm("schema", text)
        except UsageError as error:
            self._parts.notify(safe(str(error)), severity="warning", timeout=8, markup=False)
        else:
            self._parts.prompt.show_form(f"JSON by {one_line(name)}")
