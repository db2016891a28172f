"""Where the user types: the text, what goes along with it, and the files to choose from."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static, TextArea

from assistant.request import Constraint
from assistant.session.attachments import read
from assistant.store.values import Attachment
from models.errors import UsageError
from tui.chat.prompt.editor import Editor, InputHistory
from tui.chat.prompt.file_picker import FileMentioned, Picker
from tui.chat.prompt.file_search import located
from tui.chat.prompt.prompt_attachments import EDITABLE, PromptAttachments, estimated_tokens
from tui.chat.prompt.waiting_line import Unsent, WaitingLine, from_json, to_json
from tui.figures import counted
from tui.safe import one_line, safe

PICKING = "Esc keeps the @ · Enter attaches"
CHANGING = "Esc cancels · Enter asks it again, on a new branch"
CHOOSING = "Esc goes back · Enter takes a JSON Schema"


class Prompt(Vertical):
    """Take a question, what is attached to it, and what was asked before."""

    DEFAULT_CSS = """
    Prompt {
        height: auto; padding: 0 1; background: $background;
        border: round $border-blurred;
        border-title-color: $text-muted; border-title-background: $background;

        &:focus-within { border: round $primary; }
        & Editor {
            height: auto; min-height: 1; max-height: 8; padding: 0; background: $background;
            & .text-area--placeholder { color: $text-disabled; }
        }
        & #too-long { height: auto; display: none; color: $text-warning; }
    }
    """

    room: reactive[int | None] = reactive[int | None](None, init=False)
    """How many tokens the context has left for a message; None: not known."""

    @dataclass
    class Submitted(Message):
        """Enter was pressed, and what was written has left the prompt."""

        text: str
        attachments: tuple[Attachment, ...] = ()

    class Edited(Message):
        """The text or the attachments changed; `state` returns what is worth keeping."""

    def __init__(self) -> None:
        self.picker, self.attached = Picker(Path()), PromptAttachments()
        self.earlier = InputHistory()
        self.line = WaitingLine()
        self.editor = Editor(self.picker, self.attached, self.earlier, self.line)
        self._too_long = Static("", id="too-long", markup=False)
        parts = self.line, self.picker, self.attached, self._too_long, self.editor
        super().__init__(*parts, id="prompt")
        self._heading = self._constraint = ""
        self.constraint: Constraint | None = None
        """What answers have to look like; None: as they come."""

    def focus(self, scroll_visible: bool = True, **_: object) -> Self:
        """Let the user type."""
        self.editor.focus(scroll_visible)
        return self

    def head(self, changes: bool) -> None:
        """Say on the border whether the text changes an earlier question."""
        self._heading = CHANGING if changes else ""
        self._show_title()
        self.refresh_bindings()

    def _show_title(self) -> None:
        """Say on the border what is to be known of what is written."""
        title = " · ".join(filter(None, (self._heading, self._constraint)))
        picking = CHOOSING if self.editor.mention.asks else PICKING
        is_open = self.picker.opened and self.picker.chosen
        self.border_title = Content(picking if is_open else title)

    # The constraint of the answers

    def toggle_form(self) -> None:
        """Ask for a file whose schema all answers follow; or let them be as they come again."""
        if self.constraint is None:
            self.focus()
            self.editor.mention.ask(self._use_constraint)
        else:
            self.constraint, self._constraint = None, ""
            self._show_title()
            self.notify("JSON is off: free text again.", timeout=3)

    def _use_constraint(self, name: str) -> None:
        """Have answers follow the schema in a file, or say why that cannot be."""
        from assistant.constraints.grammar import fields_of  # which few chats need

        try:
            constraint = Constraint("schema", read(located(name, self.picker.root), name).text)
            fields = ", ".join(fields_of(constraint))
        except UsageError as error:
            self.notify(safe(str(error)), severity="warning", timeout=8, markup=False)
            return
        self.constraint = constraint
        self._constraint = one_line(f"JSON by {name}" + f": {fields}" * bool(fields))
        self._show_title()

    @property
    def text(self) -> str:
        """What is being written."""
        return self.editor.text

    @text.setter
    def text(self, text: str) -> None:
        self.editor.text = text

    @on(Picker.Turned)
    def _explain_picker(self, message: Picker.Turned) -> None:
        message.stop()
        self._show_title()

    # What goes along with the text

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """What goes along with the text."""
        return self.attached.attachments

    @on(Picker.OptionSelected)
    def _click(self, message: Picker.OptionSelected) -> None:
        message.stop()
        self.editor.mention.take()

    @on(FileMentioned)
    async def _read(self, message: FileMentioned) -> None:
        message.stop()
        # What is sent meanwhile waits for the file, because this widget handles it afterwards.
        path = located(message.name, self.picker.root)
        try:
            self.attached.add(await asyncio.to_thread(read, path, message.name))
        except UsageError as error:
            self.notify(safe(str(error)), severity="warning", timeout=8, markup=False)

    @on(Click, "PromptAttachments")
    def _show_attachments(self, message: Click) -> None:
        message.stop()
        self.editor.action_attachments()

    # Sending

    @on(Editor.Sent)
    def _submit(self, message: Editor.Sent) -> None:
        message.stop()
        if message.text.strip() or self.attached.says:
            unsent = Unsent(message.text, self.attachments)
            self.attached.sent()
        elif self.line.held and self.line.prompts:
            unsent = self.line.take(0)
        else:
            self.post_message(Editor.Spare("enter"))
            return
        self.post_message(self.Submitted(unsent.text, unsent.attachments))

    @on(Editor.Spare)
    def _edit_last(self, message: Editor.Spare) -> None:
        if message.key == "up" and self.line.prompts:
            message.stop()
            last = self.line.take(-1)
            self._fill(last.text, last.attachments)

    def restore_input(self, text: str, attachments: tuple[Attachment, ...] = ()) -> bool:
        """Put back what failed, unless something else has been begun; say which."""
        if self.text.strip() or self.attached.says:
            return False
        self._fill(text, attachments)
        return True

    def drop(self) -> None:
        """Drop what is here, and make room for something else."""
        self.earlier.restart()
        self.editor.show("")
        self.attached.chips = self.line.prompts = ()

    # What survives a restart

    def state(self) -> str:
        """Return what has not been sent, as JSON; empty when there is nothing."""
        unsent = Unsent(self.earlier.unsent(self.text), self.attachments)
        is_empty = unsent == Unsent("") and not self.line.prompts
        return "" if is_empty else to_json(unsent, self.line.prompts)

    def restore(self, state: str) -> None:
        """Continue with what was not sent; what has been typed already follows it."""
        if state:
            unsent, line = from_json(state)
            self._fill(unsent.text + self.text, unsent.attachments)
            self.line.prompts = (*line, *self.line.prompts)

    def _fill(self, text: str, attachments: tuple[Attachment, ...]) -> None:
        for attachment in attachments:
            if not attachment.number:  # passages are found again
                self.attached.add(attachment)
        if len(text) > EDITABLE:
            self.attached.add_pasted(text)
        self.editor.show("" if len(text) > EDITABLE else text)

    # Saying before it is sent that it does not fit

    @on(TextArea.Changed)
    @on(PromptAttachments.Changed)
    def _changed(self, message: Message) -> None:
        message.stop()
        self._compare()
        self.post_message(self.Edited())

    def watch_room(self) -> None:
        """Compare again."""
        self._compare()

    def _compare(self) -> None:
        tokens = estimated_tokens(self.text) + self.attached.tokens
        self._too_long.display = self.room is not None and tokens > self.room
        if self._too_long.display:
            text = f"Too long: ≈ {counted(tokens, 'token')}, room for {self.room:,}."
            self._too_long.update(Content(f"{text} Ctrl+L shows what is attached."))
