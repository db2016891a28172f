"""What is said in a conversation of a draft that is missing, or is no help."""

from assistant.events import ModelInfo, Ready, Stats
from tui.chat import draft_use
from tui.chat.conversation_state import ConversationState


class DraftNotes:
    """Say why answers come without speculation, and once of a pair that its draft is no help."""

    def __init__(self, state: ConversationState) -> None:
        self._state = state
        self._doubted: ModelInfo | None = None  # of which that is still to be said
        self.no_draft: str | None = None
        """Why there is no draft, if that was known before models were loaded."""

    def ready(self, ready: Ready) -> None:
        """Note which pair answers from now on."""
        self.no_draft = None if ready.draft else self.no_draft or ready.no_draft
        if self.no_draft:
            text = draft_use.refused(self.no_draft, ready, self._state.settings)
            self._state.view.note(text, "warning")
        self._doubted = ready.draft

    def doubt(self, stats: Stats) -> None:
        """Say it if nothing that the draft proposed was accepted."""
        if self._doubted and (text := draft_use.rejected(stats, self._doubted)):
            self._doubted = None
            self._state.note(f"{text} F5 chooses another draft, or none.")
