"""What an empty conversation suggests to try."""

from dataclasses import dataclass
from typing import Literal

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

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
        "Write a Python function that merges two sorted lists",
        "Write a Python function that merges two sorted lists.",
        "send",
    ),
    Suggestion("Edit a text", "Puts a misspelt letter into the prompt", MISSPELT, "edit"),
    Suggestion(
        "Watch a race",
        "The same answer with guesses and without, side by side",
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
        """The user wants to try it."""

        suggestion: Suggestion

    def __init__(self, suggestion: Suggestion) -> None:
        super().__init__()
        self._suggestion = suggestion

    def render(self) -> Content:
        """Draw the name, and what it stands for."""
        mark, hue = ("▸ ", "bold $text-accent") if self.chosen else ("  ", "bold")
        name = f"{mark}{self._suggestion.name:<13} "
        muted = "" if self.chosen else "$foreground-muted"
        return Content.assemble((name, hue), (self._suggestion.meaning, muted))

    def on_click(self) -> None:
        """Take it."""
        self.post_message(self.Taken(self._suggestion))
