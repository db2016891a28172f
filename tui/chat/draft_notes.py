"""What is said in a conversation about a draft that is missing, or no help."""

from assistant.events import ModelInfo, Ready, Stats
from tui.chat import draft_use
from tui.settings.settings import Settings


class DraftNotes:
    """Say why answers come without speculation, and once of a pair that its draft is no help."""

    def __init__(self) -> None:
        self._doubted: ModelInfo | None = None  # of which that is still to be said
        self.no_draft: str | None = None
        """Why there is no draft, if that was known before models were loaded."""

    def ready(self, ready: Ready, settings: Settings) -> str | None:
        """Note which pair answers from now on; say why it has no draft."""
        self.no_draft = None if ready.draft else self.no_draft or ready.no_draft
        self._doubted = ready.draft
        return draft_use.refused(self.no_draft, ready, settings) if self.no_draft else None

    def doubt(self, stats: Stats) -> str | None:
        """Say it if nothing that the draft proposed was accepted."""
        text = draft_use.rejected(stats, self._doubted) if self._doubted else None
        if text is None:
            return None
        self._doubted = None
        return f"{text} F5 chooses another draft, or none."
