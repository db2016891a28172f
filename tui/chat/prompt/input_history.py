"""Earlier prompts, and moving back and forth through them."""

from collections.abc import Iterable


class InputHistory:
    """Walk through earlier prompts as a shell does.

    Anything typed or changed on the way stays there until something is sent.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self.entries = list(entries)
        self._back = 0  # how far back; 0: the text that is being written
        self._left: dict[int, str] = {}  # texts as they were left, by how far back they are

    def step(self, steps: int, text: str) -> str | None:
        """Leave `text` and go back, or forth when `steps` is negative; None: nothing is there."""
        there = self._back + steps
        if not 0 <= there <= len(self.entries):
            return None
        self._left[self._back] = text
        self._back = there
        return self._left.get(there, self.entries[-there] if there else "")

    def begin(self, entries: Iterable[str]) -> None:
        """Continue from other prompts, oldest first."""
        self.entries = list(entries)
        self.restart()

    def sent(self, text: str) -> None:
        """Add what was sent and begin at the end again."""
        if text.strip() and self.entries[-1:] != [text]:
            self.entries.append(text)
        self.restart()

    def restart(self) -> None:
        """Go back to the end and forget what was changed on the way."""
        self._back = 0
        self._left.clear()

    def unsent(self, text: str) -> str:
        """Return what is being written: what was left for a look at `text`, unless that changed."""
        looked_at = self._back > 0 and text == self.entries[-self._back]
        return self._left.get(0, text) if looked_at else text
