"""Text areas and inputs in which one key moves over one character as it is seen."""

from rich.cells import split_graphemes
from textual import events
from textual.widgets import TextArea
from textual.widgets.text_area import Location

_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # letters, two of which are a flag


def start_before(text: str, index: int) -> int:
    """Return where the character begins that is seen before an index."""
    before = text[:index]
    flags = len(before) - len(before.rstrip(_FLAGS))
    spans, _ = split_graphemes(before)
    return index - 2 if flags and not flags % 2 else spans[-1][0] if spans else index


def end_after(text: str, index: int) -> int:
    """Return where the character ends that is seen after an index."""
    spans, _ = split_graphemes(text[index:])
    is_flag = len(text[index : index + 2].strip(_FLAGS)) == 0
    return index + (2 if is_flag else spans[0][1]) if spans else index


JOINERS = "\u200c", "\u200d"
"""They make one character of several, and Textual types only what is printed itself."""


class TextEntry(TextArea):
    """A text area whose keys have their effect in the order in which they came."""

    async def _on_key(self, event: events.Key) -> None:
        # Textual runs bindings later, when what was typed fast after them is there already.
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if await self.app.run_action(binding.action, self):
                break
        else:
            if event.character not in JOINERS:
                await super()._on_key(event)
                return
            self.replace(event.character, *self.selection, maintain_selection_offset=False)
        event.stop()
        event.prevent_default()

    def get_cursor_left_location(self) -> Location:
        """Return where the cursor goes to the left."""
        row, column = self.cursor_location
        to = start_before(self.document.get_line(row), column)
        return (row, to) if to < column else super().get_cursor_left_location()

    def get_cursor_right_location(self) -> Location:
        """Return where the cursor goes to the right."""
        row, column = self.cursor_location
        to = end_after(self.document.get_line(row), column)
        return (row, to) if to > column else super().get_cursor_right_location()
