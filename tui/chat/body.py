"""The middle of the chat: the conversation, the list of chats, the figures of speculation."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Resize

from tui.chat.conversation.conversation import Conversation
from tui.chat.list.chat_list import ChatList
from tui.chat.panel.panel import Speculation

NARROW, ROOMY = 80, 116
"""Cells from which on a conversation can be read beside one of the others, and beside both."""


class Body(Horizontal):
    """Put the list and the figures beside the conversation, or over it where there is no room."""

    DEFAULT_CSS = """
    Body {
        height: 1fr;
        layers: default above;

        &.-narrow > ChatList, &.-narrow > Speculation {
            layer: above;
            width: 100%;
            max-width: 100%;
        }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="body")
        self.chats, self.conversation, self.panel = ChatList(), Conversation(), Speculation()

    def compose(self) -> ComposeResult:
        """Lay out the three."""
        yield self.chats
        yield self.conversation
        yield self.panel

    def on_resize(self, event: Resize) -> None:
        """Lay them side by side; where there is no room, only what the keys go to stays."""
        narrow = event.size.width < NARROW
        if narrow and not self.has_class("-narrow"):
            self.panel.wanted = None
            if not self.chats.has_focus_within:
                self.chats.close()
        self.set_class(narrow, "-narrow")

    @property
    def covered(self) -> bool:
        """Whether the conversation is out of sight."""
        return self.has_class("-narrow") and (self.chats.display or self.panel.display)

    def toggle_chats(self) -> None:
        """Open the list and go there, or close it."""
        self.chats.toggle()
        if self.chats.display and self.panel.display and self.size.width < ROOMY:
            self.panel.wanted = False

    def toggle_panel(self) -> None:
        """Open the figures, or close them."""
        self.panel.toggle()
        if self.panel.display and self.chats.display and self.size.width < ROOMY:
            self.chats.close()

    @on(ChatList.Left)
    @on(ChatList.Chosen)
    def uncover(self) -> None:
        """Show the conversation, if something lies over it."""
        if self.covered:
            self.panel.wanted = False
            self.chats.close()
