"""How an answer was decoded, token by token."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import Static

from assistant.events import RejectedToken, Trace
from assistant.session.citing import copied_from
from assistant.store.values import Attachment
from tui.chat.inspector.token_facts import InspectedToken, entries, facts
from tui.chat.inspector.token_page import TokenPage
from tui.safe import one_line, safe
from tui.widgets.keyline import KeyLine
from tui.widgets.lines import Lines
from tui.widgets.token_styles import BASICS, legend, styles

WIDE = 110
"""Width in cells above which the facts are next to the tokens, not below them."""
EMPTY = "The tokens of this answer were not kept."


class Inspector(ModalScreen[None]):
    """Move a cursor over the tokens of an answer and read how each was decided."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="inspector.close"),
        Binding("f1", "app.help", "Help", id="inspector.help"),
        Binding("ctrl+c", "app.help_quit", "Quit", show=False),
    ]
    DEFAULT_CSS = """
    Inspector {
        background: $background;

        & #inspector-head { height: 1; padding: 0 1; background: $panel; }
        & #inspector-title {
            width: 1fr; color: $text-accent; text-style: bold;
            text-wrap: nowrap; text-overflow: ellipsis;
        }
        & #inspector-legend { width: auto; padding: 0 0 0 2; }
        & #inspector-empty { padding: 1 2; color: $text-muted; }
        & #tokens { width: 1fr; height: 1fr; padding: 1 1 0 2; scrollbar-gutter: stable; }
        & #facts {
            height: 13; max-height: 60%; padding: 0 2; border-top: solid $border-blurred;
        }
        &.wide #inspector-body { layout: horizontal; }
        &.wide #facts {
            width: 56; height: 1fr; max-height: 100%; padding: 1 2;
            border-top: none; background: $surface;
        }
    }
    """

    def __init__(
        self, trace: Trace, title: str, more: bool = False, passages: Sequence[Attachment] = ()
    ) -> None:
        super().__init__()
        self._passages = passages
        self._whose = "Tokens so far of" if more else "Tokens of"
        self._entries = entries(trace)
        self._heading = safe(" ".join(title.split()))
        self._page = TokenPage(self._entries)
        self._facts = Lines(id="facts")
        self._facts.can_focus = False

    def compose(self) -> ComposeResult:
        """Lay out the tokens and what is known of one of them."""
        kinds = {*BASICS, *(entry.kind for entry in self._entries)}
        with Horizontal(id="inspector-head"):
            yield Static(f"{self._whose} “{self._heading}”", id="inspector-title", markup=False)
            shown = legend(styles(self.app.no_color), kinds)
            yield Static(shown, id="inspector-legend", markup=False)
        if self._entries:
            with Container(id="inspector-body"):
                yield self._page
                yield self._facts
        else:
            yield Static(EMPTY, id="inspector-empty", markup=False)
        yield KeyLine()

    def on_resize(self, event: events.Resize) -> None:
        """Put the facts where there is room for them."""
        self.set_class(event.size.width >= WIDE, "wide")
        self.call_after_refresh(self.show_facts)

    @on(TokenPage.Moved)
    def show_facts(self) -> None:
        """Describe the token under the cursor."""
        if self._entries:
            at = self._page.cursor
            room = Size(self._facts.room, self._facts.size.height)
            where = stands(self._entries, at, self._passages)
            known = facts(self._entries[at], at + 1, len(self._entries), room, where)
            self._facts.put(known)


def stands(entries: Sequence[InspectedToken], at: int, passages: Sequence[Attachment]) -> str:
    """Say where the words up to a right guess stand, if it may be a copy from a passage."""
    kept = [each.item for each in entries[: at + 1] if not isinstance(each.item, RejectedToken)]
    if not passages or isinstance(entries[at].item, RejectedToken):
        return ""
    found = copied_from("".join(each.text for each in kept), kept[-1], passages)
    titles = " and ".join(one_line(each.title) for each in found)
    return f"These words stand in {titles}." if found else ""
