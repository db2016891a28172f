"""The inspector: how an answer was decoded, token by token."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import Static

from assistant.events import Origin, RejectedToken, Trace
from assistant.session.citing import copied_from
from assistant.store.values import Attachment
from tui.chat.token_facts import InspectedToken, entries, facts
from tui.chat.token_page import TokenPage
from tui.safe import one_line, safe
from tui.text.token_styles import kind, legend, styles
from tui.widgets.keyline import KeyLine
from tui.widgets.lines import Head, Lines

WIDE = 110
"""Width in cells from which the facts are beside the tokens, not below them."""
EMPTY = "The tokens of this answer were not kept."


class Inspector(ModalScreen[None]):
    """A cursor over the tokens of an answer, and the facts about the token under it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="inspector.close"),
        Binding("f1", "app.help", "Help", id="inspector.help"),
        Binding("ctrl+c", "app.help_quit", "Quit"),
    ]
    DEFAULT_CSS = """
    Inspector {
        background: $background;

        & > Head { padding: 0 1; background: $panel; color: $foreground; }
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
        self, trace: Trace, title: str, is_partial: bool, passages: Sequence[Attachment]
    ) -> None:
        super().__init__()
        self._passages = passages
        self._entries = entries(trace)
        self._head = Head()
        heading = f"Tokens {'so far ' if is_partial else ''}of “{safe(title)}”"
        self._head.line = Content.styled(heading, "bold $text-accent")
        self._page = TokenPage(self._entries)
        self._facts = Lines(id="facts")
        self._facts.can_focus = False

    def compose(self) -> ComposeResult:
        """Lay out the tokens and the facts."""
        kinds = {*Origin, *(kind(entry.item) for entry in self._entries)}
        self._head.legend = legend(styles(self.app.no_color), kinds)
        yield self._head
        if self._entries:
            with Container(id="inspector-body"):
                yield self._page
                yield self._facts
        else:
            yield Static(EMPTY, id="inspector-empty", markup=False)
        yield KeyLine()

    def on_resize(self, event: events.Resize) -> None:
        """Place the facts by the width of the screen."""
        self.set_class(event.size.width >= WIDE, "wide")
        self.call_after_refresh(self.on_token_page_moved)

    def on_token_page_moved(self) -> None:
        """Show the facts about the token under the cursor."""
        if self._entries:
            index, total = self._page.cursor, len(self._entries)
            size = Size(self._facts.line_width, self._facts.size.height)
            source = source_of(self._entries, index, self._passages)
            self._facts.show_lines(facts(self._entries[index], index + 1, total, size, source))


def source_of(entries: Sequence[InspectedToken], index: int, passages: Sequence[Attachment]) -> str:
    """Return a sentence that names the passages a token may be copied from, or nothing."""
    if not passages or isinstance(entries[index].item, RejectedToken):
        return ""
    tokens = [e.item for e in entries[: index + 1] if not isinstance(e.item, RejectedToken)]
    sources = copied_from("".join(entry.text for entry in tokens), tokens[-1], passages)
    titles = " and ".join(one_line(entry.title) for entry in sources)
    return f"These words stand in {titles}." if sources else ""
