"""The text for the terminal's scrollback, and the unfinished lines that are drawn below it."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from shutil import get_terminal_size
from typing import Any

from rich.console import Console
from rich.segment import Segment, Segments
from textual.content import Content, Span
from textual.style import Style
from textual.theme import BUILTIN_THEMES

from assistant.edit.proposals import names
from assistant.events import Decoded, Loading, Origin, Prefilled, Ready, Step, Warned, text_in
from assistant.session import events
from assistant.session.active_branch import ActiveBranch
from assistant.session.support import check
from assistant.store.values import StoredMessage
from tui.app.themes import legible
from tui.chat.conversation.answer import footer_lines
from tui.chat.status import State, line
from tui.inline.streaming_text import StreamingText
from tui.labels import access, call_lines, call_parts, model_name, outcome, plural
from tui.reading import Activity, AnswerProgress
from tui.safe import one_line, safe
from tui.text.fragment import plain
from tui.text.text_view import as_step
from tui.text.token_styles import COLOURED, PLAIN, runs_of
from tui.widgets.lines import MUTED

QUESTION, NOTE, ERROR = "bold $accent", "$text-warning", "bold $text-error"
LIGHT = ("7", "15")
"""The ends of COLORFGBG on a light background; many terminals set that variable."""


class Painter:
    """Paint lines in the colours of a theme, on the terminal's own background.

    Text on a background of the theme has the theme's text colour, too: the pair is legible on
    every terminal.
    """

    def __init__(self, theme: str) -> None:
        self._console = Console(force_terminal=True, highlight=False, markup=False, width=1000)
        is_light = os.environ.get("COLORFGBG", "").rpartition(";")[2] in LIGHT
        name = "textual-light" if is_light and theme == "textual-dark" else theme
        self.theme = legible(BUILTIN_THEMES[name])
        can_tint = not self.theme.ansi and self._console.color_system in ("256", "truecolor")
        self.token_styles = COLOURED if can_tint else PLAIN
        """The styles of tokens by kind."""
        self._variables = self.theme.to_color_system().generate() | self.theme.variables
        self._styles: dict[str, Style] = {MUTED: Style(dim=True)}

    def __call__(self, lines: Iterable[Content]) -> str:
        """Return lines with ANSI codes, each with its line break."""
        segments = [
            Segment(text, style.rich_style)
            for line in lines
            for text, style in _with_text_colour(line).render(Style.null(), "\n", self._parse)
        ]
        with self._console.capture() as capture:
            self._console.print(Segments(segments), end="", soft_wrap=True)
        return capture.get()

    def _parse(self, style: str | Style) -> Style:
        if isinstance(style, Style):
            return style
        if style not in self._styles:
            self._styles[style] = Style.parse(style, self._variables)
        return self._styles[style]


def _with_text_colour(line: Content) -> Content:
    backgrounds = (span for span in line.spans if str(span.style).startswith("on "))
    texts = [Span(span.start, span.end, "$foreground") for span in backgrounds]
    return Content(line.plain, [*texts, *line.spans])


class Scrollback:
    """Show a conversation: finished text is returned once, unfinished lines at every repaint.

    `refresh` asks the terminal to repaint.
    """

    def __init__(self, painter: Painter, branch: ActiveBranch, refresh: Callable[[], None]) -> None:
        self._painter, self._branch, self._refresh = painter, branch, refresh
        self._out: list[str] = []  # painted, and not in the scrollback yet
        self._answer: StreamingText | None = None  # under way
        self._thought = ""  # of that answer
        self.status, self._progress = State(), AnswerProgress()
        self.width = max(get_terminal_size().columns - 1, 1)  # terminals wrap after the last cell
        """Cells of a line."""
        self.ghosts = self.thoughts = False
        """Whether wrong guesses and thoughts are shown."""

    # For the terminal

    def finished(self) -> str:
        """Return the finished text since the last call."""
        if self._answer is not None and (lines := self._answer.finished()):
            self._out.append(self._painter(lines))
        text, self._out = "".join(self._out), []
        return text

    def open_lines(self, limit: int, counts: str = "") -> list[str]:
        """Return the last unfinished lines, at most `limit`, and the status line with `counts`."""
        if self._answer is not None and self._answer.width != self.width:
            self._answer.resize(self.width)
        lines = self._answer.open_lines(limit) if self._answer is not None else []
        status = line(self.status, self.width - len(counts)) + counts
        return self._painter([*lines, status]).splitlines()

    # For the chat

    def note(self, text: str, style: str = NOTE) -> None:
        """Show a text, wrapped to the width."""
        if text:
            lines = plain(safe(text), 0).wrapped(self.width)
            self.print(*(Content.styled(line.content.plain, style) for line in lines))

    def print(self, *lines: Content) -> None:
        """Show lines."""
        self._out.append(self._painter(lines))
        self._refresh()

    def show_status(self, **changes: Any) -> None:
        """Change fields of the status line."""
        self.status = replace(self.status, **changes)
        self._refresh()

    def show_path(self) -> None:
        """Show a conversation that was opened."""
        for record in self._branch.records:
            if record.role == "user":
                self._show_question(record)
            elif record.role == "assistant":
                self._begin()
                self._add(self._branch.rounds_of(record) or [as_step(record.content)])
                self._end(record, opened=True)

    def show(self, event: events.SessionEvent) -> None:
        """Show an event."""
        match event:
            case Ready():
                self.show_status(loaded=True, activity=None, n_ctx=event.target.n_ctx)
                self.note(f"{model_name(event.target.name)} is ready.", MUTED)
            case Loading() | Prefilled():
                self.show_status(activity=self._progress.describe(event))
            case Decoded():
                self._show_round(event)
            case events.PathShown():
                self.show_status(last=None)
            case events.Added(record) if record.role == "user":
                self._show_question(record)
            case events.Added(record) | events.Changed(record) if record.role == "tool":
                is_running = record.state == "streaming"
                parts = call_parts(record.tool_calls[0]) if is_running else outcome(record)
                self.note(f"▸ {' · '.join(parts)}", MUTED)
            case events.Added(record) | events.Changed(record) if record.role == "assistant":
                self._begin() if record.state == "streaming" else self._end(record)
            case events.Removed():
                self._answer = None
            case Warned(text, severity):
                self.note(text, ERROR if severity == "error" else NOTE)
            case events.NotSaved(reason):
                self.note(f"{reason} The conversation continues, but is not saved.", ERROR)
            case events.ApprovalRequested(call, tool):
                self.note("\n".join([*call_lines(call), access(tool)]))
                self.note("Run it? y: yes, c: always in this conversation, a: always, Enter: no")
            case events.Preparing(text, fraction):
                self.show_status(activity=None if fraction is None else Activity(text, fraction))
                self.note(text if fraction is None else "", MUTED)
            case events.AnswerEnded():
                self.show_status(activity=None)

    def _show_question(self, record: StoredMessage) -> None:
        names = ", ".join(file.title for file in record.attachments if not file.number)
        self.note("› " + record.content.replace("\n", "\n  "), QUESTION)
        self.note(f"  with {one_line(names)}" if names else "", MUTED)
        self.print(Content(""))

    def _show_round(self, event: Decoded) -> None:
        self._thought += text_in(event.tokens, "thought")
        activity = None
        if self._thought and text_in(event.tokens):  # it is over
            self.note(self._thought if self.thoughts else "", MUTED)
            self._thought = ""
        elif self._thought:
            activity = Activity(f"thinking: {plural(event.stats.thought_tokens, 'token')}", 0.0)
        self.show_status(last=event, activity=activity)
        self._add([Step(event.tokens, event.rejected)])

    def _begin(self) -> None:
        theme, self._thought = self._painter.theme, ""
        self._answer = StreamingText(self.width, self._painter.token_styles, theme.ansi, theme.dark)

    def _add(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if self._answer is not None:
                self._answer.add(runs_of(step.part("answer"), self.ghosts))

    def _end(self, record: StoredMessage, opened: bool = False) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            # An incomplete character at the end of an answer is in no round's text.
            answer.add([(safe(record.content[len(answer.text) :]), Origin.TARGET)])
            self._out.append(self._painter(answer.finished(over=True)))
        records = self._branch.records
        self.note(footer_lines(record, check(record, records), opened), MUTED)
        if files := names(record, records):
            self.note(f"/apply writes {one_line(files)}.", MUTED)
        self.print(Content(""))
