"""The parts of the chat's screen, and the ways between them."""

from textual import on
from textual.app import ComposeResult
from textual.screen import Screen

from assistant.request import Mode
from tui.app.painting import Sparing
from tui.chat.banner import Banner
from tui.chat.body import Body
from tui.chat.conversation.conversation import Conversation
from tui.chat.list.chat_list import ChatList
from tui.chat.prompt.prompt import Prompt
from tui.chat.status import Status
from tui.widgets.keyline import KeyLine


class Parts(Screen[None]):
    """Lay out the chat, and go from one of its parts to another.

    On a screen of a few lines, what is said and what is typed come before everything else.
    """

    DEFAULT_CSS = """
    Parts {
        layout: vertical;

        &.-low Banner, &.-flat Banner, &.-flat Status { display: none; }
        &.-flat Prompt, &.-flat Prompt:focus-within { border: none; }
    }
    """
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (7, "-low"), (11, "-high")]  # noqa: RUF012

    def __init__(self, mode: Mode) -> None:
        super().__init__()
        self._compositor = Sparing()
        self.prompt, self.status, self.banner = Prompt(), Status(mode), Banner()
        self.body = body = Body()
        self.conversation, self.panel, self.chats = body.conversation, body.panel, body.chats

    def compose(self) -> ComposeResult:
        """Lay out the parts from top to bottom."""
        yield self.banner
        yield self.body
        yield self.status
        yield self.prompt
        yield KeyLine()

    @property
    def away(self) -> bool:
        """Whether there is a way back to the prompt and the conversation."""
        return self.body.covered or self.focused is not self.prompt.editor

    @on(ChatList.Left)
    @on(Conversation.Left)
    def action_back(self) -> None:
        """Go back to the prompt and the conversation."""
        self.body.uncover()
        self.prompt.focus()

    def action_chats(self) -> None:
        """Open the list of conversations, or close it."""
        self.body.toggle_chats()

    def action_panel(self) -> None:
        """Open the figures of speculation, or close them."""
        self.body.toggle_panel()

    def action_turns(self) -> None:
        """Go to the newest message, from where every message can be reached."""
        self.body.uncover()
        self.conversation.focus_last()

    def action_page(self, direction: int) -> None:
        """Scroll the conversation by a page."""
        view = self.conversation
        view.scroll_page_up() if direction < 0 else view.scroll_page_down()

    def action_scroll(self, to: str) -> None:
        """Go to one end of the conversation."""
        if to == "home":
            self.conversation.scroll_home()
        else:
            self.conversation.anchor()
