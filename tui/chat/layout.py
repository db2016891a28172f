"""The parts of the chat, from top to bottom, and side by side in the middle."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Key, Paste, Resize
from textual.widget import Widget

from tui.app.textual_private import meaning_of
from tui.chat.banner import Banner
from tui.chat.conversation.conversation import Conversation
from tui.chat.conversation.turn import Turn
from tui.chat.list.chat_list import ChatList
from tui.chat.list.chat_rows import ChatRows
from tui.chat.panel.panel import Speculation
from tui.chat.prompt.prompt import Prompt
from tui.chat.status import Status

NARROW, ROOMY = 80, 160
"""Widths in cells at which a conversation fits next to one of the others, and next to both."""
BRIEF = 100
"""Width below which the list closes once a conversation was chosen."""


class ChatLayout(Vertical):
    """Lay out the chat, and go from one of its parts to another."""

    DEFAULT_CSS = "ChatLayout { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.prompt, self.status, self.banner = Prompt(), Status(), Banner()
        self.body = body = Body()
        self.conversation, self.panel, self.chats = body.conversation, body.panel, body.chats

    def compose(self) -> ComposeResult:
        """Lay out the parts from top to bottom."""
        yield self.banner
        yield self.body
        yield self.status
        yield self.prompt

    @property
    def away(self) -> bool:
        """Whether there is a way back to the prompt and the conversation."""
        return self.body.covered or self.screen.focused is not self.prompt.editor

    def shows(self, widget: Widget) -> bool:
        """Return whether a widget is in sight, or can be scrolled there."""
        parents = widget.ancestors_with_self
        covered = self.body.covered and self.conversation in parents
        return not covered and all(each.display for each in parents)

    def direct(self, event: Key | Paste) -> None:
        """Send text that is no key of a focused message to the prompt, and all that follows it."""
        at = self.screen.focused
        if not isinstance(at, Turn):
            return
        if isinstance(event, Paste) or (at.unasked and event.is_printable):
            self.screen.set_focus(self.prompt.editor)
        elif event.key not in self.screen.active_bindings:
            if meaning := meaning_of(self.screen, event.key):
                what = f"{meaning[:1].lower()}{meaning[1:]}"
                self.notify(f"Not on this message: {what}.", timeout=3, markup=False)
            elif event.is_printable:
                self.screen.set_focus(self.prompt.editor)

    def on_mount(self) -> None:
        """Begin with what is on the screen."""
        self.say_once()

    @on(Speculation.Turned)
    def say_once(self) -> None:
        """Say on the status line what guessing has brought, unless the panel does."""
        self.status.show(is_beside_panel=self.panel.display)
        self.refresh_bindings()  # Esc closes what covers the conversation

    @on(ChatList.Left)
    @on(Conversation.Left)
    def back(self) -> None:
        """Go back to the prompt and the conversation."""
        self.body.uncover()
        self.prompt.focus()


class Body(Horizontal):
    """Put the list and the figures beside the conversation, or over it where there is no room."""

    DEFAULT_CSS = """
    Body {
        height: 1fr;
        layers: default above;

        &.-narrow > ChatList, &.-narrow > Speculation {
            layer: above;
            min-width: 100%;
            max-width: 100%;
        }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="body")
        self.chats, self.conversation = ChatList(), Conversation()
        self.panel = Speculation(lambda: self.chats.display and self.size.width < ROOMY)

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

    def toggle_panel(self) -> None:
        """Open the figures, or close them."""
        if self.size.width < ROOMY:
            self.chats.close()
        self.panel.toggle()
        if self.covered:
            self.screen.set_focus(None)

    @on(ChatRows.Chosen)
    def make_room(self) -> None:
        """Close the list where it takes much of the room."""
        if self.size.width < BRIEF:
            self.chats.close()

    @on(ChatList.Left)
    @on(ChatRows.Chosen)
    def uncover(self) -> None:
        """Show the conversation if something covers it."""
        if self.covered:
            self.panel.wanted = False
            self.chats.close()
