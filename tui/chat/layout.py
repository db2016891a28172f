"""The widgets of the chat, where they are on the screen, and which of them has the focus."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Key, Paste, Resize
from textual.screen import Screen
from textual.widget import Widget

from tui.chat.chat_list import ChatList
from tui.chat.conversation.conversation import Conversation
from tui.chat.conversation.turn import Turn
from tui.chat.panel import FiguresPanel
from tui.chat.prompt.prompt import Prompt
from tui.chat.status import Banner, Status
from tui.widgets.keyline import KeyLine

NARROW, ROOMY = 80, 160
"""Width in cells from which a conversation fits next to a side panel, and between two."""


class ChatWidgets(Screen[None]):
    """The widgets of a chat.

    The list of conversations and the figures are beside the conversation, or cover it on a narrow
    screen. On a screen of a few lines only the conversation and the prompt are shown.
    """

    AUTO_FOCUS = "Editor"
    DEFAULT_CSS = """
    ChatWidgets {
        overflow: hidden;

        & > #body { layers: default above; }
        &.-narrow > #body > ChatList, &.-narrow > #body > FiguresPanel {
            layer: above; min-width: 100%; max-width: 100%;
        }
        &.-low PromptQueue, &.-flat PromptQueue { max-height: 1; }
        &.-low Editor, &.-flat Editor { max-height: 3; }
        &.-low Banner, &.-flat Banner, &.-flat Status { display: none; }
        &.-flat Prompt, &.-flat Prompt:focus-within { border: none; }
    }
    """
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (7, "-low"), (11, "-high")]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.prompt, self.status, self.banner = Prompt(), Status(id="status"), Banner()
        self.chats, self.conversation, self.panel = ChatList(), Conversation(), FiguresPanel()

    def compose(self) -> ComposeResult:
        """Lay out the widgets from top to bottom, and three of them side by side."""
        yield self.banner
        yield Horizontal(self.chats, self.conversation, self.panel, id="body")
        yield self.status
        yield self.prompt
        yield KeyLine()

    def on_resize(self, event: Resize) -> None:
        """On a narrow screen, close the side panels that do not have the focus."""
        narrow = event.size.width < NARROW
        if narrow and not self.has_class("-narrow"):
            self.panel.wanted = False
            if not self.chats.has_focus_within:
                self.chats.close()
        self.set_class(narrow, "-narrow")

    def on_mount(self) -> None:
        """Open and close the figures when they are wanted, and with the width of the screen."""
        self.watch(self.panel, "wanted", self._fit_panel)
        self.screen_layout_refresh_signal.subscribe(self, lambda _: self._fit_panel())

    def _fit_panel(self) -> None:
        """Show the figures if they are wanted and fit beside the list of conversations."""
        is_open = self.panel.wanted and (not self.chats.display or self.size.width >= ROOMY)
        if is_open != self.panel.display:
            self.panel.display = is_open
            self.status.show(is_beside_panel=is_open)  # which leaves out what the panel shows
            self.refresh_bindings()  # Esc closes what covers the conversation

    @property
    def covered(self) -> bool:
        """Whether a side panel covers the conversation."""
        return self.has_class("-narrow") and (self.chats.display or self.panel.display)

    def uncover(self) -> None:
        """Close the side panel that covers the conversation, if one does."""
        if self.covered:
            self.panel.wanted = False
            self.chats.close()

    def shows(self, widget: Widget) -> bool:
        """Return whether a widget is visible, or can be scrolled into view."""
        parents = widget.ancestors_with_self
        covered = self.covered and self.conversation in parents
        return not covered and all(parent.display for parent in parents)

    def set_focus(
        self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False
    ) -> None:
        """Focus a visible widget, or else the prompt, if the terminal itself has the focus."""
        if self.app.app_focus and (widget is None or not self.shows(widget)):
            widget = self.prompt.editor
        super().set_focus(widget, scroll_visible, from_app_focus)

    def route_typing(self, event: Key | Paste) -> None:
        """Focus the prompt when text is typed on a turn that has no such key."""
        turn = self.focused
        if not isinstance(turn, Turn):
            return
        if isinstance(event, Paste) or (turn.autofocused and event.is_printable):
            self.set_focus(self.prompt.editor)
        elif active := self.active_bindings.get(event.key):
            if not active.enabled:
                does = active.tooltip or active.binding.description
                self.notify(f"Not on this message: {does[:1].lower()}{does[1:]}.", timeout=3)
        elif event.is_printable:
            self.set_focus(self.prompt.editor)
