"""The text of the prompt, its keys, and the earlier prompts that they lead to."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from tui.app.clipboard import copy_and_say
from tui.chat.prompt.file_picker import Mention, Picker
from tui.chat.prompt.prompt_attachments import PromptAttachments
from tui.chat.prompt.waiting_line import WaitingLine
from tui.safe import safe
from tui.widgets.entry_screen import TextEntry

if TYPE_CHECKING:
    from tui.app.program import Program

NEW_LINE = {"ctrl+j", "alt+enter", "shift+enter", "ctrl+enter", "shift+\r"}
"""The last is Shift+Enter as xterm and tmux spell it."""
MAX_CHARACTERS, MAX_LINES = 4_000, 60
"""A longer paste becomes an attachment."""
TAKEN = ("f6", "f7", "ctrl+y,super+y")
"""Keys of a text area that mean something else in the chat."""
_KEPT = [each for each in TextArea.BINDINGS if isinstance(each, Binding) and each.key not in TAKEN]
PLACEHOLDER = "Ask something. Enter sends, Ctrl+J starts a new line, @ adds a file."


class InputHistory:
    """Walk through earlier prompts as a shell does.

    Anything typed or changed on the way stays there until something is sent.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self.entries = list(entries)
        self._back = 0  # how far back; 0: the text that is being written
        self._left: dict[int, str] = {}  # texts as they were left, by how far back they are

    def step(self, steps: int, text: str) -> str | None:
        """Leave `text` and go back, or forth when `steps` is negative; None: nothing is there."""
        there = self._back + steps
        if not 0 <= there <= len(self.entries):
            return None
        self._left[self._back] = text
        self._back = there
        return self._left.get(there, self.entries[-there] if there else "")

    def begin(self, entries: Iterable[str]) -> None:
        """Continue from other prompts, oldest first."""
        self.entries = list(entries)
        self.restart()

    def sent(self, text: str) -> None:
        """Add what was sent and begin at the end again."""
        if text.strip() and self.entries[-1:] != [text]:
            self.entries.append(text)
        self.restart()

    def restart(self) -> None:
        """Go back to the end and forget what was changed on the way."""
        self._back = 0
        self._left.clear()

    def unsent(self, text: str) -> str:
        """Return what is being written: what was left for a look at `text`, unless that changed."""
        looked_at = self._back > 0 and text == self.entries[-self._back]
        return self._left.get(0, text) if looked_at else text


class Editor(TextEntry, inherit_bindings=False):
    """A text area in which Enter sends, up-arrow recalls and @ picks a file."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+shift+z,super+y", "redo", "Redo", show=False),
        Binding("ctrl+d", "quit_or_delete", "Quit when empty", show=False, id="prompt.quit"),
        Binding("ctrl+c,super+c", "copy", "Copy", show=False, id="prompt.copy"),
        Binding("ctrl+l", "attachments", "Attachments", show=False, id="prompt.attachments"),
        Binding("f12", "edit", "In your editor", show=False, id="prompt.edit"),
        Binding("pageup", "screen.scroll('up')", "Scroll up", show=False),
        Binding("pagedown", "screen.scroll('down')", "Scroll down", show=False),
        *_KEPT,  # of two that have a key the first counts
    ]

    @dataclass
    class Sent(Message):
        """Enter was pressed."""

        text: str

    @dataclass
    class Spare(Message):
        """Up, down or enter was pressed, and means nothing in an empty prompt."""

        key: str

    def __init__(
        self, picker: Picker, attached: PromptAttachments, earlier: InputHistory, line: WaitingLine
    ) -> None:
        self.mention = Mention(self, picker)
        super().__init__(compact=True, highlight_cursor_line=False, placeholder=PLACEHOLDER)
        self.cursor_blink = False  # each blink costs the models a millisecond of every core
        self._picker, self._attached, self._earlier, self._line = picker, attached, earlier, line

    async def _on_key(self, event: events.Key) -> None:
        # Not bindings: those are run a moment later, when text that is typed or pasted fast without
        # brackets has overtaken them.
        if self.mention.press(event.key):
            pass
        elif event.key == "enter":
            self.send()
        elif event.key in NEW_LINE:
            self.replace("\n", *self.selection, maintain_selection_offset=False)
        elif event.key == "backspace" and not self.text:
            self._attached.drop_last()
        else:
            await super()._on_key(event)
            if event.character == "@":
                self.mention.open()
            return
        event.stop()
        event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")  # as terminals send new lines
        if len(text) > MAX_CHARACTERS or text.count("\n") >= MAX_LINES:
            self._attached.add_pasted(text)
        else:
            self.type_in(text)

    def send(self) -> None:
        """Send what is written, as Enter does; it can be recalled."""
        text = self.text
        self._earlier.sent(text)
        self.show("")
        self.post_message(self.Sent(text))

    def type_in(self, text: str) -> None:
        """Put a text where the cursor is."""
        result = self.replace(safe(text), *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def show(self, text: str, end: bool = True) -> None:
        """Replace the whole text, with the cursor at its end or at the end of its first line."""
        self.text = safe(text)
        self.move_cursor(self.document.end if end else (0, len(self.document.get_line(0))))

    def watch_selection(self) -> None:
        """Look for the file whose name is typed."""
        self.mention.follow()

    # Going through what was sent before

    def action_cursor_up(self, select: bool = False) -> None:
        """Recall an earlier prompt from the first line that is shown: first the last in line."""
        if self._line.prompts and not (self.text or self._attached.says):
            self._spare("up")
        elif select or self._line_shown > 0 or not self._recall(1):
            super().action_cursor_up(select)
            self._spare("up")

    def action_cursor_down(self, select: bool = False) -> None:
        """Recall a later prompt from the last line that is shown."""
        last = self.wrapped_document.height - 1
        if select or self._line_shown < last or not self._recall(-1):
            super().action_cursor_down(select)
            self._spare("down")

    def _spare(self, key: str) -> None:
        if not self.text:
            self.post_message(self.Spare(key))

    @property
    def _line_shown(self) -> int:
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    def _recall(self, steps: int) -> bool:
        text = self._earlier.step(steps, self.text)
        if text is not None:
            self.show(text, end=steps < 0)
        return text is not None

    # The other keys

    def action_quit_or_delete(self) -> None:
        """Leave the app, as in a shell, or delete to the right when there is text."""
        if self.text or self._picker.opened:
            self.action_delete_right()
        else:
            self.app.exit()

    def action_copy(self) -> None:
        """Copy the selection, and drop it so that the next Ctrl+C means something else."""
        if not self.selected_text:
            raise SkipAction
        copy_and_say(self, self.selected_text)
        self.move_cursor(self.cursor_location)

    def action_undo(self) -> None:
        """Undo what was typed; where nothing was, the screen may undo something else."""
        if not self.history.undo_stack:
            raise SkipAction
        super().action_undo()

    def action_paste(self) -> None:
        """Paste what was copied here."""
        self.post_message(events.Paste(self.app.clipboard))

    def action_edit(self) -> None:
        """Have the text written in the user's editor."""
        with TemporaryDirectory() as folder:
            path = Path(folder, "prompt.md")
            path.write_text(self.text, encoding="utf-8")
            problem = cast("Program", self.app).edit(path)
            self.show(path.read_text("utf-8", "replace").removesuffix("\n"))
        if problem:
            self.notify(safe(problem), severity="warning", timeout=8, markup=False)

    def action_attachments(self) -> None:
        """Let the user read and drop what is attached, or insert it into the text."""
        attached = self._attached
        if not attached.chips:
            self.notify("Nothing is attached. Type @ to add a file.", timeout=4)
            return
        from tui.chat.prompt.prompt_attachments import AttachmentsScreen, Outcome

        def use(outcome: Outcome | None) -> None:
            if outcome is not None:
                kept, inserted = outcome
                attached.chips = tuple(chip for chip in kept if chip is not inserted)
                if inserted is not None:
                    self.type_in(inserted.attachment.text)

        self.app.push_screen(AttachmentsScreen(attached.chips), use)
