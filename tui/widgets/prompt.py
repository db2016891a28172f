"""Where the person types."""

from dataclasses import dataclass
from typing import ClassVar, cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.keys import Keys
from textual.message import Message
from textual.widgets import TextArea

from tui.widgets.origins import legend, styles

NEW_LINE = {"ctrl+j", "alt+enter", "shift+enter", "ctrl+enter", "shift+\r"}
"""The last is Shift+Enter as xterm and tmux spell it."""

# Most terminals send this for Alt+Enter, which Textual reads as Enter. It must not send.
cast(dict[str, tuple[Keys, ...]], ANSI_SEQUENCES_KEYS)["\x1b\r"] = (Keys.ControlJ,)


class Prompt(TextArea):
    """A text area in which Enter sends and up-arrow brings earlier prompts back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "quit_or_delete", "Quit when empty", show=False),
        Binding("ctrl+c,super+c", "copy", "Copy", show=False),
        Binding("pageup", "screen.page(-1)", "Scroll up", show=False),
        Binding("pagedown", "screen.page(1)", "Scroll down", show=False),
    ]

    @dataclass
    class Submitted(Message):
        """Enter was pressed; the text stays until it is taken."""

        text: str

    def __init__(self) -> None:
        super().__init__(
            id="prompt",
            compact=True,
            highlight_cursor_line=False,
            placeholder="Ask something. Enter sends, Ctrl+J starts a new line.",
        )
        self._history: list[str] = []
        self._recalled = 0  # how far back in the history; 0: not at all

    def on_mount(self) -> None:
        """Put the legend of the answers onto the border, where it costs no line."""
        self.border_subtitle = legend(styles(self.app.no_color))

    def take(self) -> None:
        """Remember the text for up-arrow and make room for the next."""
        if not self._history or self._history[-1] != self.text:
            self._history.append(self.text)
        self._recalled = 0
        self.text = ""

    def give_back(self, text: str) -> bool:
        """Put a text back that came to nothing, unless another one has been begun; say which."""
        if self.text.strip():
            return False
        self._show(text)
        return True

    async def _on_key(self, event: events.Key) -> None:
        # Not bindings: those are run a moment later, when text that is typed or pasted fast without
        # brackets has overtaken them.
        if event.key == "enter":
            self.post_message(self.Submitted(self.text))
        elif event.key in NEW_LINE:
            self._replace_via_keyboard("\n", *self.selection)
        else:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()

    def action_quit_or_delete(self) -> None:
        """Leave the app, as in a shell, or delete to the right when there is text."""
        if self.text:
            self.action_delete_right()
        else:
            self.app.exit()

    def action_copy(self) -> None:
        """Copy the selection, and drop it so that the next Ctrl+C means something else."""
        if not self.selected_text:
            raise SkipAction
        self.app.copy_to_clipboard(self.selected_text)
        self.move_cursor(self.cursor_location)

    def action_cursor_up(self, select: bool = False) -> None:
        """Recall an earlier prompt when there is nothing above the cursor to lose."""
        if select or not (self.cursor_at_first_line and self._recall(self._recalled + 1)):
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Recall a later prompt."""
        if select or not (self.cursor_at_last_line and self._recall(self._recalled - 1)):
            super().action_cursor_down(select)

    def _recall(self, steps: int) -> bool:
        shown = self._history[-self._recalled] if self._recalled else ""
        if self.text != shown or not 0 <= steps <= len(self._history):
            return False  # what was typed or changed would be lost
        self._recalled = steps
        self._show(self._history[-steps] if steps else "")
        return True

    def _show(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)
