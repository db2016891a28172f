"""The form that answers are to have, by a schema in a file that is picked."""

from assistant.request import AnswerForm
from assistant.talk.attachments import read
from models.errors import UsageError
from tui.chat.prompt.file_search import located
from tui.chat.prompt.prompt import Prompt
from tui.safe import one_line, safe


class ChosenForm:
    """Have answers follow a schema, and say so on the prompt."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self.form: AnswerForm | None = None
        """What answers have to look like; None: as they come."""

    def toggle(self) -> None:
        """Ask for a file whose schema all answers follow; or let them be as they come again."""
        if self.form is None:
            self._prompt.pick(self._use)
        else:
            self.form = None
            self._prompt.show_form("")
            self._prompt.notify("JSON is off: free text again.", timeout=3)

    def _use(self, name: str) -> None:
        """Have answers follow the schema in a file, or say why that cannot be."""
        from assistant.forms.grammar import fields_of  # which few chats need

        try:
            form = AnswerForm("schema", read(located(name, self._prompt.picker.root), name).text)
            fields = ", ".join(fields_of(form))
        except UsageError as error:
            self._prompt.notify(safe(str(error)), severity="warning", timeout=8, markup=False)
            return
        self.form = form
        self._prompt.show_form(one_line(f"JSON by {name}" + f": {fields}" * bool(fields)))
