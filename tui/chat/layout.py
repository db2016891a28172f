"""The parts of the chat: where they are, and the ways from one to another."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Key, Paste, Resize
from textual.screen import Screen
from textual.widget import Widget

from tui.app.textual_private import meaning_of
from tui.chat.conversation.conversation import Conversation
from tui.chat.conversation.turn import Turn
from tui.chat.list.chat_list import ChatList
from tui.chat.panel.panel import Speculation
from tui.chat.prompt.prompt import Prompt
from tui.chat.status import Banner, Status
from tui.widgets.keyline import KeyLine

NARROW, ROOMY = 80, 160
"""Widths in cells at which a conversation fits next to one of the others, and next to both."""


class ChatLayout(Screen[None]):
    """Lay out the chat, and go from one of its parts to another.

    The list and the figures are beside the conversation, or over it where there is no room.
    """

    DEFAULT_CSS = """
    ChatLayout {
        overflow: hidden;

        & > #body { layers: default above; }
        &.-narrow > #body > ChatList, &.-narrow > #body > Speculation {
            layer: above; min-width: 100%; max-width: 100%;
        }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.prompt, self.status, self.banner = Prompt(), Status(), Banner()
        self.chats, self.conversation = ChatList(), Conversation()
        self.panel = Speculation(lambda: self.chats.display and self.size.width < ROOMY)

    def compose(self) -> ComposeResult:
        """Lay out the parts from top to bottom, and three of them side by side."""
        yield self.banner
        yield Horizontal(self.chats, self.conversation, self.panel, id="body")
        yield self.status
        yield self.prompt
        yield KeyLine()

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

    def shows(self, widget: Widget) -> bool:
        """Return whether a widget is in sight, or can be scrolled there."""
        parents = widget.ancestors_with_self
        covered = self.covered and self.conversation in parents
        return not covered and all(each.display for each in parents)

    def set_focus(
        self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False
    ) -> None:
        """Give the keys to what is seen; else to the prompt, while the terminal has them."""
        if self.app.app_focus and (widget is None or not self.shows(widget)):
            widget = self.prompt.editor
        super().set_focus(widget, scroll_visible, from_app_focus)

    def direct(self, event: Key | Paste) -> None:
        """Send text that is no key of a focused message to the prompt, and all that follows it."""
        at = self.focused
        if not isinstance(at, Turn):
            return
        if isinstance(event, Paste) or (at.unasked and event.is_printable):
            self.set_focus(self.prompt.editor)
        elif event.key not in self.active_bindings:
            if meaning := meaning_of(self, event.key):
                what = f"{meaning[:1].lower()}{meaning[1:]}"
                self.notify(f"Not on this message: {what}.", timeout=3, markup=False)
            elif event.is_printable:
                self.set_focus(self.prompt.editor)

    @on(Speculation.Turned)
    def say_once(self) -> None:
        """Say on the status line what guessing has brought, unless the panel does."""
        self.status.show(is_beside_panel=self.panel.display)
        self.refresh_bindings()  # Esc closes what covers the conversation

    def uncover(self) -> None:
        """Show the conversation if something covers it."""
        if self.covered:
            self.panel.wanted = False
            self.chats.close()

    @on(ChatList.Left)
    @on(Conversation.Left)
    def action_back(self) -> None:
        """Go back to the prompt and the conversation."""
        self.uncover()
        self.prompt.focus()

    def action_chats(self) -> None:
        """Open the list of conversations, or close it."""
        self.chats.toggle()

    def action_panel(self) -> None:
        """Open the figures, or close them."""
        if self.size.width < ROOMY:
            self.chats.close()
        self.panel.toggle()
        if self.covered:
            self.set_focus(None)

    def action_turns(self) -> None:
        """Go to the newest message, from where every message can be reached."""
        self.uncover()
        self.conversation.focus_last()

    def action_scroll(self, to: str) -> None:
        """Go to one end of the conversation, or a page up or down."""
        view = self.conversation
        match to:
            case "up":
                view.scroll_page_up()
            case "down":
                view.scroll_page_down()
            case "home":
                view.scroll_home()
            case _:
                view.anchor()
