"""The text area of the prompt, its keys, and the history of prompts."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, cast

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from tui.app.clipboard import copy_and_notify
from tui.app.program import Program
from tui.chat.prompt.file_picker import Picker
from tui.chat.prompt.prompt_attachments import AttachmentsScreen, PromptAttachments
from tui.chat.prompt.prompt_queue import PromptQueue
from tui.safe import safe
from tui.widgets.entry_screen import TextEntry

NEW_LINE = {"ctrl+j", "alt+enter", "shift+enter", "ctrl+enter", "shift+\r"}
"""The last is Shift+Enter as xterm and tmux report it."""
MAX_CHARACTERS, MAX_LINES = 4_000, 60
"""A longer paste becomes an attachment."""
OVERRIDDEN = ("f6", "f7", "ctrl+y,super+y")
"""Keys of a text area that mean something else in the chat."""
_INHERITED = [
    binding
    for binding in TextArea.BINDINGS
    if isinstance(binding, Binding) and binding.key not in OVERRIDDEN
]
PLACEHOLDERS = (
    "Ask something. @ adds a file, / lists commands, Ctrl+J starts a new line.",
    "Ask something. @ adds a file, / lists commands.",
    "Ask something.",
)
"""What an empty prompt says, from the longest; the first that fits is shown."""


class InputHistory:
    """Step through earlier prompts as a shell does.

    Edits of earlier prompts are remembered until something is sent.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self.entries = list(entries)
        self._back = 0  # steps back from the text that is being typed
        self._edits: dict[int, str] = {}  # texts as they were left, by steps back

    def step(self, steps: int, text: str) -> str | None:
        """Remember `text`, and return the one `steps` further back; None at either end."""
        back = self._back + steps
        if not 0 <= back <= len(self.entries):
            return None
        self._edits[self._back] = text
        self._back = back
        return self._edits.get(back, self.entries[-back] if back else "")

    def load(self, entries: Iterable[str]) -> None:
        """Replace the prompts, oldest first."""
        self.entries = list(entries)
        self.restart()

    def add(self, text: str) -> None:
        """Append a prompt that was sent, and return to the end."""
        if text.strip() and self.entries[-1:] != [text]:
            self.entries.append(text)
        self.restart()

    def restart(self) -> None:
        """Return to the end, and forget edits of earlier prompts."""
        self._back = 0
        self._edits.clear()

    def unsent(self, text: str) -> str:
        """Return the text to save: `text`, or the one before it while `text` is only recalled."""
        is_recalled = self._back > 0 and text == self.entries[-self._back]
        return self._edits.get(0, text) if is_recalled else text


class Editor(TextEntry, inherit_bindings=False):
    """A text area: Enter sends, the up arrow recalls, @ picks a file and / lists commands."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+shift+z,super+y", "redo", "Redo"),
        Binding("ctrl+d", "quit_or_delete", "Quit when empty", id="prompt.quit"),
        Binding("ctrl+c,super+c", "copy", "Copy"),
        Binding("ctrl+l", "attachments", "Attachments", id="prompt.attachments"),
        Binding("f12", "edit", "In your editor", id="prompt.edit"),
        Binding("pageup", "screen.scroll('up')", "Scroll up"),
        Binding("pagedown", "screen.scroll('down')", "Scroll down"),
        *_INHERITED,  # the first of two bindings of a key counts
    ]

    @dataclass
    class Sent(Message):
        """Enter was pressed."""

        text: str

    @dataclass
    class Unused(Message):
        """Up, down or enter was pressed in an empty prompt, which has no use for it."""

        key: str

    def __init__(
        self, attached: PromptAttachments, history: InputHistory, queue: PromptQueue
    ) -> None:
        self.picker = Picker(self)
        super().__init__(compact=True, highlight_cursor_line=False, placeholder=PLACEHOLDERS[0])
        self.cursor_blink = False  # each repaint takes a millisecond of every core from the models
        self._attached, self._history, self._queue = attached, history, queue

    def on_resize(self, event: events.Resize) -> None:
        """Show the longest placeholder that fits."""
        fit = (text for text in PLACEHOLDERS if len(text) < event.size.width)
        self.placeholder = next(fit, "")

    async def _on_key(self, event: events.Key) -> None:
        # Not bindings: Textual runs those later, after text that was typed or pasted since.
        if self.picker.use_key(event.key):
            pass
        elif event.key == "enter":
            self.send()
        elif event.key in NEW_LINE:
            self.type_in("\n")
        elif event.character == "/" and not self.text:
            self.app.action_command_palette()
        elif event.key == "backspace" and not self.text:
            self._attached.chips = self._attached.chips[:-1]
        else:
            await super()._on_key(event)
            if event.character == "@":
                self.picker.open()
            return
        event.stop()
        event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")  # as terminals send new lines
        if len(text) > MAX_CHARACTERS or text.count("\n") >= MAX_LINES:
            self._attached.add_pasted(text)
        elif not self.picker.paste(text):
            self.type_in(text)

    def send(self) -> None:
        """Send the text, as Enter does, and add it to the history."""
        text = self.text
        self._history.add(text)
        self.show("")
        self.post_message(self.Sent(text))

    def show(self, text: str, end: bool = True) -> None:
        """Replace the whole text, with the cursor at its end or at the end of its first line."""
        self.text = safe(text)
        self.move_cursor(self.document.end if end else (0, len(self.document.get_line(0))))

    def watch_selection(self) -> None:
        """Search for the file whose name is typed after an @."""
        self.picker.search_typed()

    # The history

    def action_cursor_up(self, select: bool = False) -> None:
        """On the first line, edit the last queued prompt, or recall an earlier one."""
        if self._queue.prompts and not (self.text or self._attached.has_content):
            self._post_unused("up")
        elif select or self._cursor_row > 0 or not self._recall(1):
            super().action_cursor_up(select)
            self._post_unused("up")

    def action_cursor_down(self, select: bool = False) -> None:
        """On the last line, recall a later prompt."""
        last = self.wrapped_document.height - 1
        if select or self._cursor_row < last or not self._recall(-1):
            super().action_cursor_down(select)
            self._post_unused("down")

    def _post_unused(self, key: str) -> None:
        if not self.text:
            self.post_message(self.Unused(key))

    @property
    def _cursor_row(self) -> int:
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    def _recall(self, steps: int) -> bool:
        text = self._history.step(steps, self.text)
        if text is not None:
            self.show(text, end=steps < 0)
        return text is not None

    # The other keys

    def action_quit_or_delete(self) -> None:
        """Quit, as a shell does; delete to the right when there is text."""
        if self.text or self.picker.display:
            self.action_delete_right()
        else:
            self.app.exit()

    def action_copy(self) -> None:
        """Copy the selection, and clear it so that the next Ctrl+C can quit."""
        if not self.selected_text:
            raise SkipAction
        copy_and_notify(self, self.selected_text)
        self.move_cursor(self.cursor_location)

    def action_undo(self) -> None:
        """Undo typing; without any, the screen may undo a deletion."""
        if not self.history.undo_stack:
            raise SkipAction
        super().action_undo()

    def action_paste(self) -> None:
        """Paste what was copied in this program."""
        self.post_message(events.Paste(self.app.clipboard))

    def action_edit(self) -> None:
        """Edit the text in the user's editor."""
        try:
            with TemporaryDirectory() as folder:
                path = Path(folder, "prompt.md")
                path.write_text(self.text, encoding="utf-8")
                reason = cast(Program, self.app).edit(path)
                self.show(path.read_text("utf-8", "replace").removesuffix("\n"))
        except OSError as error:  # a full disk
            reason = f"The prompt cannot be edited there: {error.strerror}."
        if reason:
            self.notify(reason, severity="warning", timeout=8)

    def action_attachments(self) -> None:
        """Show the attachments, which can be removed or inserted into the text."""
        if not self._attached.chips:
            self.notify("Nothing is attached. Type @ to add a file.", timeout=4)
            return

        def insert(text: str | None) -> None:
            if text:
                self.type_in(text)

        self.app.push_screen(AttachmentsScreen(self._attached), insert)
