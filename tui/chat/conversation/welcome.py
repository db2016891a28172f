"""What the app says in a conversation: an introduction, suggestions, and notes."""

from dataclasses import dataclass
from typing import Literal

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

from assistant.events import Origin
from tui.safe import safe
from tui.text.token_styles import GHOST, Kind, legend, styles

NOVICE = 3
"""Questions after which no suggestions are shown."""
HEIGHT = 8  # rows of the introduction and the suggestions at 40 columns
WHAT = "Chat with a model on this computer. Nothing you type leaves it."
WITH_TOOLS = (
    "Chat with a model on this computer. Tools are off; F9, then Ctrl+T, turns them on. A tool "
    "of a server may go online if you allow it."
)
"""The same where tools are configured: specchat does not know what servers do."""
LEGEND: dict[Kind, str] = {
    Origin.DRAFT: "guessed by the small model, kept by the large one",
    GHOST: "the large one disagreed; Ctrl+G shows these",
    Origin.RESIDUAL: "what the large one wrote instead",
}
TRY = "Try one: ↓ chooses, Enter takes it. Or just type."
MISSPELT = (
    "Correct the spelling and change nothing else:\n\n"
    "Thank you for your letter, wich I recieved on Tuesday. We would like to visit the libary on "
    "Friday, but the adress in your letter seems to be wrong. Could you please send it to me "
    "again? There will be six of us, and we will definately stay for the hole afternoon. I look "
    "foward to seeing you and your collection."
)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something to try."""

    name: str
    meaning: str
    text: str  # what goes into the prompt
    then: Literal["send", "edit", "race"]


SUGGESTIONS = (
    Suggestion(
        "Ask for code",
        "A function that merges two sorted lists",
        "Write a Python function that merges two sorted lists.",
        "send",
    ),
    Suggestion("Edit a text", "Correct a letter full of mistakes", MISSPELT, "edit"),
    Suggestion(
        "Watch a race",
        "With and without guesses, side by side",
        "Write the numbers from one to thirty in words, separated by commas.",
        "race",
    ),
)


class SuggestionLine(Static):
    """A suggestion in a line; a click takes it."""

    DEFAULT_CSS = """
    SuggestionLine {
        text-wrap: nowrap; text-overflow: ellipsis;
        &:hover, &.-chosen { background: $panel; }
    }
    """
    chosen: reactive[bool] = reactive(False, toggle_class="-chosen")
    """Whether Enter takes it."""

    @dataclass
    class Taken(Message):
        """The user chose a suggestion."""

        suggestion: Suggestion

    def __init__(self, suggestion: Suggestion) -> None:
        super().__init__()
        self._suggestion = suggestion

    def render(self) -> Content:
        """Draw the name, and the meaning where it fits."""
        mark, hue = ("▸ ", "bold $text-accent") if self.chosen else ("  ", "bold")
        muted = "" if self.chosen else "$foreground-muted"
        name, meaning = f"{mark}{self._suggestion.name:<13} ", self._suggestion.meaning
        fits = len(name) + len(meaning) <= self.size.width
        return Content.assemble((name, hue), (meaning if fits else "", muted))

    def on_click(self) -> None:
        """Choose this suggestion."""
        self.post_message(self.Taken(self._suggestion))


class Welcome(Vertical):
    """Explain an empty conversation; to newcomers with suggestions."""

    DEFAULT_CSS = """
    Welcome {
        height: 1fr; align: center middle;

        & > Static { width: 76; max-width: 100%; height: auto; }
        & > .what { text-style: bold; margin: 0 0 1 0; }
        & > .try { color: $text-muted; }
        &.-short > .what { display: none; }
    }
    """

    def __init__(self, is_novice: bool, has_tools: bool) -> None:
        super().__init__()
        self._what = WITH_TOOLS if has_tools else WHAT
        self._lines = [SuggestionLine(text) for text in SUGGESTIONS] if is_novice else []
        self._chosen = 0  # the line that Enter takes

    def compose(self) -> ComposeResult:
        """Lay out the introduction, then suggestions for newcomers, the legend for others."""
        yield Static(self._what, classes="what", markup=False)
        if not self._lines:
            yield Static(legend(styles(self.app.no_color), LEGEND))
            return
        yield Static(TRY, classes="try", markup=False)
        yield from self._lines
        self._lines[0].chosen = True

    def on_resize(self) -> None:
        """Hide the introduction where the suggestions would not fit below it; F1 shows it, too."""
        self.set_class(bool(self._lines) and self.size.height < HEIGHT, "-short")

    def use_key(self, key: str) -> None:
        """Handle a key that the prompt does not use."""
        if self._lines and key == "enter":
            self._lines[self._chosen].on_click()
        elif self._lines:
            self._lines[self._chosen].chosen = False
            self._chosen = (self._chosen + (1 if key == "down" else -1)) % len(self._lines)
            self._lines[self._chosen].chosen = True


NoteKind = Literal["info", "warning", "error"]


class Note(Static):
    """Show a sentence of the app's own between the turns."""

    DEFAULT_CSS = """
    Note {
        height: auto; max-width: 120; margin: 0 0 1 0; padding: 0 1;
        border-left: outer $secondary; color: $text-muted;
        &.warning { border-left: outer $warning; color: $text-warning; }
        &.error { border-left: outer $error; color: $text-error; }
    }
    """

    def __init__(self, text: str, kind: NoteKind) -> None:
        super().__init__(safe(text), classes=f"note {kind}", markup=False)
