"""The parts of the chat, from top to bottom."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical

from assistant.request import Mode
from tui.chat.banner import Banner
from tui.chat.body import Body
from tui.chat.conversation.conversation import Conversation
from tui.chat.list.chat_list import ChatList
from tui.chat.prompt.prompt import Prompt
from tui.chat.status import Status


class ChatLayout(Vertical):
    """Lay out the chat, and go from one of its parts to another."""

    DEFAULT_CSS = "ChatLayout { height: 1fr; }"

    def __init__(self, mode: Mode) -> None:
        super().__init__()
        self.prompt, self.status, self.banner = Prompt(), Status(mode), Banner()
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

    @on(ChatList.Left)
    @on(Conversation.Left)
    def back(self) -> None:
        """Go back to the prompt and the conversation."""
        self.body.uncover()
        self.prompt.focus()
