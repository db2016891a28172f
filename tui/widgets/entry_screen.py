"""Text entry: a text area, an input line, and a dialog that asks for a text."""

from collections.abc import Callable
from typing import ClassVar

from rich.cells import split_graphemes
from textual import events, on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Input, Static, TextArea
from textual.widgets.input import Selection
from textual.widgets.text_area import Location

from tui.app.clipboard import copy_and_notify
from tui.safe import safe
from tui.widgets.dialog import Dialog

_REGIONAL_INDICATORS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # two are a flag


def _start_before(text: str, index: int) -> int:
    """Return the start of the grapheme before an index."""
    before = text[:index]
    indicators = len(before) - len(before.rstrip(_REGIONAL_INDICATORS))
    if indicators > 0 and indicators % 2 == 0:
        return index - 2
    spans, _ = split_graphemes(before)
    return spans[-1][0] if spans else index


def _end_after(text: str, index: int) -> int:
    """Return the end of the grapheme after an index."""
    spans, _ = split_graphemes(text[index:])
    if not spans:
        return index
    is_flag = not text[index : index + 2].strip(_REGIONAL_INDICATORS)
    return index + (2 if is_flag else spans[0][1])


JOINERS = "\u200c", "\u200d"
"""Zero-width joiners, which Textual does not insert because they are not printable."""


class TextEntry(TextArea):
    """A text area that moves by graphemes."""

    async def _on_key(self, event: events.Key) -> None:
        if event.character not in JOINERS:
            await super()._on_key(event)
            return
        self.type_in(event.character)
        event.stop()
        event.prevent_default()

    def type_in(self, text: str) -> None:
        """Replace the selection by a text, with the cursor after it."""
        self.replace(safe(text), *self.selection, maintain_selection_offset=False)

    def undo(self) -> None:
        """Undo the last edit."""
        if self.history.undo_stack:
            self.move_cursor((0, 0))  # Textual 8.2.8 looks for the cursor's line once it is gone
        super().undo()

    def redo(self) -> None:
        """Redo the edit that was undone last."""
        if self.history.redo_stack:
            self.move_cursor((0, 0))
        super().redo()

    def get_cursor_left_location(self) -> Location:
        """Return the location one grapheme to the left."""
        row, column = self.cursor_location
        start = _start_before(self.document.get_line(row), column)
        return (row, start) if start < column else super().get_cursor_left_location()

    def get_cursor_right_location(self) -> Location:
        """Return the location one grapheme to the right."""
        row, column = self.cursor_location
        end = _end_after(self.document.get_line(row), column)
        return (row, end) if end > column else super().get_cursor_right_location()


class EntryLine(Input, inherit_bindings=False):
    """An input that moves by graphemes; copying clears the selection, so Ctrl+C twice quits."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Choose", id="entry.submit"),
        *Input.BINDINGS,  # not those that scroll: up and down have other meanings on its screens
    ]
    cursor_blink = reactive(False, init=False)

    def action_copy(self) -> None:
        """Copy the selection."""
        if not self.selected_text:
            raise SkipAction
        copy_and_notify(self, self.selected_text)
        self.selection = Selection.cursor(self.cursor_position)

    async def _on_key(self, event: events.Key) -> None:
        if event.character in JOINERS:
            self.insert_text_at_cursor(event.character)
        await super()._on_key(event)

    def validate_selection(self, selection: Selection) -> Selection:
        """Return a selection whose cursor is not inside a grapheme."""
        start, cursor = super().validate_selection(selection)
        begin = _start_before(self.value, cursor + 1) if cursor < len(self.value) else cursor
        if begin < cursor:
            is_leftwards = cursor < self.selection.end
            cursor = begin if is_leftwards else _end_after(self.value, begin)
        return Selection(cursor if selection.is_empty else start, cursor)

    def delete(self, start: int, end: int) -> None:
        """Delete whole graphemes."""
        if start < end:
            start, end = _start_before(self.value, start + 1), _end_after(self.value, end - 1)
        super().delete(start, end)


class EntryText(TextEntry):
    """The text area of a dialog, to which Enter belongs."""

    def __init__(self, text: str, many_lines: bool) -> None:
        super().__init__(text, compact=True, highlight_cursor_line=False, tab_behavior="focus")
        self.cursor_blink = False
        self._many_lines = many_lines

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.prevent_default()
        else:
            await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        if not self._many_lines:
            event.text = " ".join(event.text.split())


class EntryScreen(Dialog[str | None]):
    """Ask for a text; return it, or None when cancelled.

    `invalid_reason` returns why a text is invalid, or nothing; Enter completes only valid texts.
    """

    DEFAULT_CSS = """
    EntryScreen {
        & > .frame { width: 64; border-title-style: none; }
        & TextArea { height: auto; min-height: 1; max-height: 12; background: $surface; }
        & Static { height: auto; padding: 0 1; color: $text-muted; }
        & Static.wrong { color: $text-error; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Cancel", id="entry.cancel", priority=True),
        Binding("enter", "accept"),
        Binding("ctrl+j", "new_line"),
    ]

    def __init__(
        self,
        title: str,
        text: str = "",
        hint: str = "",
        invalid_reason: Callable[[str], str] = lambda _: "",
        many_lines: bool = False,
    ) -> None:
        super().__init__()
        self.input = EntryText(safe(text), many_lines)
        self.message = Static(safe(hint), markup=False)
        self._title, self._text, self._hint = title, text, hint
        self._invalid_reason, self._many_lines = invalid_reason, many_lines
        self._before = self.input.text

    def compose(self) -> ComposeResult:
        """Lay out the text area above its hint."""
        with Vertical(classes="frame") as box:
            box.border_title = Content(safe(self._title))
            line = "Ctrl+J starts a line · " if self._many_lines else ""
            box.border_subtitle = Content(f"Esc goes back · {line}Enter takes it")
            yield self.input
            yield self.message

    def on_mount(self) -> None:
        """Select the whole text, so that typing replaces it."""
        self.set_focus(self.input)
        self.input.select_all()

    @on(TextArea.Changed)
    def _show_reason(self) -> None:
        reason = self._invalid_reason(self.input.text)
        self.message.set_class(bool(reason), "wrong")
        self.message.update(safe(f"✗ {reason}" if reason else self._hint))

    def action_new_line(self) -> None:
        """Begin another line, if there may be many."""
        if self._many_lines:
            self.input.type_in("\n")

    def action_accept(self) -> None:
        """Return a valid text; an unchanged one in its original form, not made safe."""
        text = self.input.text
        if not self._invalid_reason(text):
            self.dismiss(self._text if text == self._before else text)
