"""The prompt: its text, its attachments, the queue above it and the file picker."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widgets import Static, TextArea

from assistant.request import Constraint
from assistant.session.attachments import attachment_of
from assistant.session.messages import tokens
from assistant.session.unsent_text import Unsent
from assistant.store.values import Attachment
from models.errors import UsageError
from tui.chat.prompt.editor import Editor, InputHistory
from tui.chat.prompt.file_picker import FileMentioned, Picker
from tui.chat.prompt.prompt_attachments import EDITABLE, PromptAttachments
from tui.chat.prompt.prompt_queue import PromptQueue
from tui.labels import plural
from tui.safe import one_line, safe

PICKING = "Esc keeps the @ · Enter attaches"
CHANGING = "Esc cancels · Enter asks it again, on a new branch"
CHOOSING = "Esc goes back · Enter takes a JSON Schema"


class Prompt(Vertical):
    """Let the user type a question, attach files to it, and recall earlier ones."""

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

    @dataclass
    class Submitted(Message):
        """A prompt was sent, and has left the widget; None stands for the next in the queue."""

        unsent: Unsent | None

    class Edited(Message):
        """The text or the attachments changed."""

    def __init__(self) -> None:
        self.attached, self.history, self.queue = PromptAttachments(), InputHistory(), PromptQueue()
        self.editor = Editor(self.attached, self.history, self.queue)
        self.picker = self.editor.picker
        self._too_long = Static("", id="too-long", markup=False)
        widgets = self.queue, self.picker, self.attached, self._too_long, self.editor
        super().__init__(*widgets, id="prompt")
        self._heading = self._constraint_name = ""
        self.constraint: Constraint | None = None
        """The schema that answers obey; None: free text."""

    def focus(self, scroll_visible: bool = True, **_: object) -> Self:
        """Focus the editor."""
        self.editor.focus(scroll_visible)
        return self

    def show_edit(self, is_edit: bool) -> None:
        """Show on the border whether the text is the edit of an earlier question."""
        self._heading = CHANGING if is_edit else ""
        self._show_title()
        self.refresh_bindings()

    @on(Picker.Changed)
    def _show_title(self) -> None:
        """Update the title on the border: the edit, the constraint, or the keys of the picker."""
        title = " · ".join(filter(None, (self._heading, self._constraint_name)))
        picking = CHOOSING if self.picker.on_pick else PICKING
        is_open = self.picker.display and self.picker.chosen
        self.border_title = Content(picking if is_open else title)

    # The constraint of the answers

    def toggle_constraint(self) -> None:
        """Ask for a file with the schema of all answers; or lift the constraint."""
        if self.constraint is None:
            self.focus()
            self.picker.pick(self._use_schema)
        else:
            self.constraint, self._constraint_name = None, ""
            self._show_title()
            self.notify("JSON is off: free text again.", timeout=3)

    def _use_schema(self, name: str) -> None:
        """Constrain answers to the schema in a file, or say why that is not possible."""
        from assistant.constraints.grammar import fields_of  # few chats need it

        try:
            constraint = Constraint("schema", attachment_of(name).text)
            fields = ", ".join(fields_of(constraint))
        except UsageError as error:
            self.notify(str(error), severity="warning", timeout=8)
            return
        self.app.clear_notifications()  # one may be about another file
        self.constraint = constraint
        self._constraint_name = one_line(f"JSON by {name}" + (f": {fields}" if fields else ""))
        self._show_title()

    @property
    def text(self) -> str:
        """The typed text."""
        return self.editor.text

    # Attachments

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The attachments as they belong to the question."""
        return self.attached.attachments

    @on(Picker.OptionSelected)
    def _click(self, message: Picker.OptionSelected) -> None:
        message.stop()
        self.picker.accept()

    @on(FileMentioned)
    async def _read(self, message: FileMentioned) -> None:
        message.stop()
        # A prompt that is sent meanwhile has the file: this widget handles it afterwards.
        try:
            self.attached.add(await asyncio.to_thread(attachment_of, message.name))
        except UsageError as error:
            self.notify(str(error), severity="warning", timeout=8)

    @on(Click, "PromptAttachments")
    def _show_attachments(self, message: Click) -> None:
        message.stop()
        self.editor.action_attachments()

    # Sending

    @on(Editor.Sent)
    def _submit(self, message: Editor.Sent) -> None:
        message.stop()
        if message.text.strip() or self.attached.has_content:
            self.post_message(self.Submitted(Unsent(message.text, self.attachments)))
            # Folders belong to the next question, too.
            self.attached.chips = tuple(c for c in self.attached.chips if c.sent.is_folder)
        elif self.queue.paused and self.queued:
            self.post_message(self.Submitted(None))
        else:
            self.post_message(Editor.Unused("enter"))

    @on(Editor.Unused)
    def _edit_last(self, message: Editor.Unused) -> None:
        if message.key == "up" and self.queued:
            message.stop()
            *self.queued, last = self.queued
            self.insert(last)

    def restore_input(self, text: str, attachments: tuple[Attachment, ...] = ()) -> bool:
        """Put a prompt back; return False, and leave it, if another one is being typed."""
        if self.text.strip() or self.attached.has_content:
            return False
        self.insert(Unsent(text, attachments))
        return True

    # What was not sent, for `UnsentText`

    @property
    def typed(self) -> Unsent:
        """The text that was typed, not one that was only recalled, and its attachments."""
        return Unsent(self.history.unsent(self.text), self.attachments)

    @property
    def queued(self) -> tuple[Unsent, ...]:
        """The questions that wait for the end of an answer."""
        return self.queue.prompts

    @queued.setter
    def queued(self, queue: Iterable[Unsent]) -> None:
        self.queue.prompts = tuple(queue)

    def insert(self, unsent: Unsent) -> None:
        """Put a question into the prompt, before what was typed since."""
        for attachment in unsent.attachments:
            if not attachment.number:  # passages are searched again
                self.attached.add(attachment)
        text = "\n".join(filter(None, (unsent.text, self.text)))
        if len(text) > EDITABLE:
            self.attached.add_pasted(text)
        self.editor.show("" if len(text) > EDITABLE else text)

    def drop(self) -> None:
        """Clear the text, the attachments and the queue."""
        self.history.restart()
        self.editor.show("")
        self.attached.chips = self.queued = ()

    def on_resize(self) -> None:
        """Keep toasts above the prompt."""
        self.screen.query("ToastRack").set_styles(f"margin: 0 0 {self.outer_size.height + 1} 0;")

    # A warning that a prompt does not fit, before it is sent

    @on(TextArea.Changed)
    @on(PromptAttachments.Changed)
    def _changed(self, message: Message) -> None:
        message.stop()
        self.post_message(self.Edited())
        count, limit = tokens(self.text) + self.attached.tokens, self.attached.limits.tokens
        self._too_long.display = False
        if count > limit:
            text = f"Too long: ≈ {plural(count, 'token')}, room for {limit:,}."
            self.refuse(f"{text} Ctrl+L shows what is attached.")

    def refuse(self, reason: str) -> None:
        """Show why the prompt cannot be sent, until it changes."""
        self._too_long.update(Content(safe(reason)))
        self._too_long.display = True
