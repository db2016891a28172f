"""Dialogs: a frame in the middle of the screen, and one with a list above the details of a row."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import OptionList, Static

from tui.formatting import by_parts


class ClosedOnce(Screen[ScreenResultType]):
    """A screen that ignores a second key to close it, which would close the screen below."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close it if it is on top."""
        return super().dismiss(result) if self.is_current else AwaitComplete()


class Dialog(ModalScreen[ScreenResultType], ClosedOnce[ScreenResultType]):
    """A centred `.frame` with a title above and its keys below, which fills a small screen."""

    DEFAULT_CSS = """
    Dialog {
        align: center middle; background: $background;

        & > .frame {
            max-width: 96%; height: auto; max-height: 90%;
            background: $surface; border: round $primary;
            border-title-color: $text-accent; border-title-style: bold;
            border-subtitle-color: $text-muted;
        }
        &.-small > .frame { width: 100%; max-width: 100%; max-height: 100%; padding: 0; }
        & OptionList:focus { background-tint: $surface 0%; }
    }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-small"), (60, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "app.help", "Help", id="dialog.help"),
        Binding("ctrl+c", "app.help_quit"),
    ]

    subtitle = ""
    """The whole text below the frame."""

    def on_resize(self) -> None:
        """Show as many parts of the text below as fit."""
        for frame in self.query(".frame"):
            self.subtitle = self.subtitle or str(frame.border_subtitle or "")
            frame.border_subtitle = Content(by_parts(self.subtitle, frame.size.width - 2))


class ListDialog(Dialog[ScreenResultType]):
    """A list of rows above the details of the row under the cursor."""

    DEFAULT_CSS = """
    ListDialog {
        & > .frame { width: 100; height: 90%; padding: 0 1; }
        & VerticalScroll {
            height: 1fr; min-height: 4; margin: 1 0 0 0; padding: 0 1;
            border-top: solid $border-blurred;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll(-1)", "Scroll up", priority=True),
        Binding("pagedown", "scroll(1)", "Scroll down", priority=True),
    ]

    def __init__(self, title: str, keys: str) -> None:
        """Store the title, and the line below the frame, which explains the keys."""
        super().__init__()
        self.list = OptionList(markup=False, compact=True)
        self.detail = Static(markup=False)
        self._title, self._keys = title, keys

    def compose(self) -> ComposeResult:
        """Lay out the list and the details."""
        with Vertical(classes="frame") as box:
            box.border_title, box.border_subtitle = self._title, self._keys
            yield self.list
            with VerticalScroll(can_focus=False):
                yield self.detail

    def show_detail(self, detail: str | Content, keys: str = "") -> None:
        """Show the details of a row, scrolled to their start, and the keys of such rows only."""
        self.subtitle = self._keys + keys
        self.on_resize()
        self.detail.update(detail)
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def action_scroll(self, direction: int) -> None:
        """Scroll the details by a page."""
        view = self.query_one(VerticalScroll)
        view.scroll_page_up() if direction < 0 else view.scroll_page_down()
