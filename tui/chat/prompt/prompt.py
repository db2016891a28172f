"""Where the user types: the text, what goes along with it, and the files to choose from."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static, TextArea

from assistant.store.values import Attachment
from assistant.talk.attachments import read
from models.errors import UsageError
from tui.chat.prompt.editor import Editor, InputHistory
from tui.chat.prompt.file_picker import FileMentioned, Picker
from tui.chat.prompt.file_search import located
from tui.chat.prompt.prompt_attachments import (
    EDITABLE,
    PromptAttachments,
    estimated_tokens,
    from_json,
    said,
    to_json,
)
from tui.safe import safe

PICKING = "Enter attaches · Esc keeps the @"
CHOOSING = "Enter takes the file with a JSON Schema · Esc goes back"


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
        }
        & #too-long { height: auto; display: none; color: $text-warning; }
    }
    """

    room: reactive[int | None] = reactive[int | None](None, init=False)
    """How many tokens the context has left for a message; None: not known."""

    @dataclass
    class Submitted(Message):
        """Enter was pressed; the text and the attachments stay until they are taken."""

        text: str
        attachments: tuple[Attachment, ...] = ()

    class Edited(Message):
        """The text or the attachments changed; `state` returns what is worth keeping."""

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self.picker, self.attached = Picker(Path()), PromptAttachments()
        self.earlier = InputHistory()
        self.editor = Editor(self.picker, self.attached, self.earlier)
        self._too_long = Static("", id="too-long", markup=False)
        self._sent: Prompt.Submitted | None = None
        self._heading = self._form = ""

    def compose(self) -> ComposeResult:
        """Lay out the files to choose from, what is attached, and the text."""
        yield self.picker
        yield self.attached
        yield self._too_long
        yield self.editor

    def focus(self, scroll_visible: bool = True, **_: object) -> Self:
        """Let the user type."""
        self.editor.focus(scroll_visible)
        return self

    def head(self, text: str) -> None:
        """Say on the border what the text is for; empty for a new message."""
        self._heading = text
        self.border_title = Content(self._title)

    def show_form(self, text: str) -> None:
        """Say on the border what form answers are to have; empty for none."""
        self._form = text
        self.border_title = Content(self._title)

    def pick(self, take: Callable[[str], None]) -> None:
        """Have the file of a schema picked, as files are that are attached."""
        self.focus()
        self.editor.mention.ask(take)

    @property
    def _title(self) -> str:
        return " · ".join(filter(None, (self._heading, self._form)))

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
        picking = CHOOSING if self.editor.mention.asks else PICKING
        self.border_title = Content(picking if self.picker.opened else self._title)

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
            self._sent = self.Submitted(message.text, self.attachments)
            self.post_message(self._sent)
        else:
            self.post_message(Editor.Spare("enter"))

    def take(self) -> None:
        """Remember what was sent for up-arrow, and make room for the next."""
        sent = self._sent or self.Submitted(self.text, self.attachments)
        self._sent = None
        self.earlier.sent(sent.text)
        # What was typed or attached since stays.
        since = self.text[len(sent.text) :] if self.text.startswith(sent.text) else ""
        self.editor.show(since)
        chips = self.attached.chips
        self.attached.chips = tuple(
            c for c in chips if c.attachment not in sent.attachments or c.attachment.is_folder
        )  # the next question is about the same folder

    def give_back(self, text: str, attachments: tuple[Attachment, ...] = ()) -> bool:
        """Put back what failed, unless something else has been begun; say which."""
        if self.text.strip() or self.attached.says:
            return False
        self._fill(text, attachments)
        return True

    def drop(self) -> None:
        """Drop what is here, and make room for something else."""
        self._sent = None
        self.earlier.restart()
        self.editor.show("")
        self.attached.chips = ()

    # What survives a restart

    def state(self) -> str:
        """Return what has not been sent, as JSON; empty when there is nothing."""
        text = self.earlier.unsent(self.text)
        return to_json(text, self.attachments) if text or self.attachments else ""

    def restore(self, state: str) -> None:
        """Continue with what was not sent; what has been typed already follows it."""
        if state:
            text, attachments = from_json(state)
            self._fill(text + self.text, attachments)

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
            text = f"Too long: {said(tokens, counted=False)}, room for {self.room:,}."
            self._too_long.update(Content(f"{text} Ctrl+L shows what is attached."))
