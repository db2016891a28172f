"""What stands between the answers: the person's turns and the app's notes."""

from typing import Literal

from textual.widgets import Static

from tui.safe import safe

SHOWN = 3000
"""Characters of a turn that are shown; a pasted book would make every layout slow."""


WELCOME = (
    "A conversation with a model on this machine; nothing you type leaves it.\n\n"
    "A small draft model proposes the next tokens, the large target model checks several at once, "
    "and what the draft had right is highlighted. Ctrl+T turns that on and off, F1 explains."
)


class Welcome(Static):
    """Say what this is until the person has said something."""

    def __init__(self) -> None:
        super().__init__(WELCOME, classes="welcome", markup=False)


class UserTurn(Static):
    """Show what the person said."""

    def __init__(self, text: str) -> None:
        super().__init__(_shorten(safe(text)), classes="user", markup=False)
        self.text = text


class Note(Static):
    """Show a sentence of the app's own, inside the conversation."""

    def __init__(self, text: str, kind: Literal["info", "warning", "error"] = "info") -> None:
        super().__init__(safe(text), classes=f"note {kind}", markup=False)


def _shorten(text: str) -> str:
    if len(text) <= SHOWN:
        return text
    head, tail = text[: SHOWN * 2 // 3], text[-SHOWN // 3 :]
    return f"{head}\n⋯ {len(text) - len(head) - len(tail):,} characters not shown ⋯\n{tail}"
