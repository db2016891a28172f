"""Several answers to one question, side by side as they come, to choose one of."""

import math
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid
from textual.content import Content
from textual.events import DescendantFocus
from textual.screen import Screen
from textual.widgets import Static

from assistant.events import Answered, Decoded, Finished, Stop
from assistant.tokens import Step
from tui.figures import MARKS, counted, of_several
from tui.safe import safe
from tui.widgets.keyline import KeyLine
from tui.widgets.pane import Pane

NARROWEST = 26
"""Cells that an answer needs next to another one."""
LOWEST = 7
"""Lines that an answer needs above another one."""
HINT = "All answers are kept; Enter continues with the selected one."


class SeveralScreen(Screen[int]):
    """Show answers under way; it ends with the number of the one that is chosen."""

    DEFAULT_CSS = """
    SeveralScreen {
        & #several-question {
            height: 1; margin: 0 1; padding: 0 1; border-left: outer $primary; background: $boost;
            text-style: bold; text-wrap: nowrap; text-overflow: ellipsis;
        }
        & Grid { height: 1fr; grid-gutter: 0 1; }
        & Grid.-alone Column { display: none; }
        & Grid.-alone Column.-last { display: block; }
        & #several-line { height: 1; margin: 0 2; color: $text-muted; text-wrap: nowrap; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Choose", id="several.choose", tooltip="Continue with it"),
        Binding("left,shift+tab", "step(-1)", "Before", id="several.before"),
        Binding("right,tab", "step(1)", "Next", id="several.next"),
        Binding("escape", "stop", "Stop", id="several.stop", tooltip="Stop, and keep all"),
    ]

    def __init__(self, question: str, count: int) -> None:
        super().__init__()
        self.columns = [Column(number, count) for number in range(count)]
        self.over = False
        self._question = Static(safe(question), id="several-question", markup=False)
        self._grid = Grid(*self.columns)
        self._line = Static(HINT, id="several-line", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the question, the answers, and what is said of them."""
        yield self._question
        yield self._grid
        yield self._line
        yield KeyLine()

    def on_mount(self) -> None:
        """Begin at the first answer."""
        self.columns[0].add_class("-last")
        self.columns[0].focus()

    def on_resize(self) -> None:
        """Put the answers into few rows where there is room, else show one at a time."""
        count, width, height = len(self.columns), self.size.width, self.size.height - 3
        rows = {n: math.ceil(count / n) for n in range(1, count + 1)}  # by how many are in one
        fits = [n for n in rows if width // n >= NARROWEST and height // rows[n] >= LOWEST]
        self._grid.set_class(not fits, "-alone")
        self._grid.styles.grid_size_columns = min(fits, key=lambda n: (rows[n], n), default=1)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Remember which answer was looked at last: alone, it stays in sight."""
        for column in self.columns:
            column.set_class(column is event.widget, "-last")

    def end(self, event: Answered) -> None:
        """Say that all answers have ended."""
        self.over = True
        self._line.update(" · ".join(of_several(event, len(self.columns))))
        self.refresh_bindings()

    def action_step(self, step: int) -> None:
        """Go to the previous or next answer, cyclically."""
        self.columns[(self._at + step) % len(self.columns)].focus()

    def action_choose(self) -> None:
        """Continue with the focused answer; running ones are stopped and kept."""
        self.dismiss(self._at)

    def action_stop(self) -> None:
        """Stop all answers, keep them, and continue with the first."""
        self.dismiss(0)

    @property
    def _at(self) -> int:
        return next((c.number for c in self.columns if c.has_class("-last")), 0)


class Column(Pane):
    """Show an answer; the one that has the focus is the one that would be chosen."""

    def __init__(self, number: int, count: int) -> None:
        super().__init__()
        self.number = number
        self._writing = False
        self.border_title = Content(f" {number + 1} of {count} ")
        self.border_subtitle = Content(" reading ")

    def take(self, event: Decoded | Finished) -> None:
        """Show a round, or the end."""
        count = event.stats.generated_tokens
        if isinstance(event, Decoded):
            if not self._writing:
                self._writing = True
                self.tokens.grow(True)
            self.tokens.add(Step(event.tokens, event.ghosts))
            how = "writing"
        else:
            self.tokens.grow(False)
            how = MARKS.get(event.stop, "complete")
            if not event.complete and event.stop is not Stop.CANCELLED:
                how = "cut before its form was complete"
        self.border_subtitle = Content(f" {counted(count, 'token')} · {how} ")
