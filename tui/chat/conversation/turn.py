"""The turns of a conversation: what all have in common, and the turn of the user's message."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from time import localtime, strftime, time
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from assistant.session.tool_loop import Decision
from assistant.store.values import Attachment, StoredMessage
from tui.labels import byte_size, model_name
from tui.safe import one_line, safe
from tui.text.text_view import TextView, as_step
from tui.widgets.lines import Head

Verb = Literal[
    "copy", "copy-code", "apply", "edit", "regenerate", "continue", "fork", "delete", "older",
    "newer", "inspect", "sources",
]  # fmt: skip
"""What can be done with a turn."""
Distance = Literal["lines", "turn", "end"]
CODE = "Copy the largest code block; again: the next"
SOURCES = "List the passages it cites, or was asked about"
APPLY = "Show the change to a file, then write it"
FENCE = re.compile(r"^[ >]*(?:(?:[-*+]|\d+[.)]) +)*(?:`{3,}[^`\n]*|~{3,}[^\n]*)$", re.MULTILINE)
"""The first line of a code block."""
MINUTE_S, MONTH_S = 60.0, 28 * 86400.0
SHOWN = 3000
"""Characters of a turn that are shown; a pasted book would make every layout slow."""

NOT_STORED = StoredMessage(0, None, "tool", "", 0.0, "streaming")
"""The message of a turn that shows none of the store."""


@dataclass
class TurnAction(Message):
    """The user wants something done with a turn."""

    turn: "Turn"
    verb: Verb | Decision


class Turn(Vertical):
    """A turn that can take the focus; the receiver of `TurnAction` acts on it."""

    can_focus = True
    DEFAULT_CSS = """
    Turn { height: auto; max-width: 120; margin: 0 0 1 0; padding: 0 1; border-left: blank; }
    Turn:focus { border-left: thick $accent; background: $boost; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Previous", id="turn.previous"),
        Binding("down,j", "move(1)", "Next", id="turn.next"),
        Binding("ctrl+up", "move(-1, 'turn')", "Previous message", id="turn.jump_back"),
        Binding("ctrl+down", "move(1, 'turn')", "Next message", id="turn.jump"),
        Binding("home", "move(-1, 'end')", "Oldest message", id="turn.first"),
        Binding("end", "move(1, 'end')", "Newest message", id="turn.last"),
        Binding("n", "act('continue')", "Continue", id="turn.continue"),
        Binding("e", "act('edit')", "Edit", id="turn.edit", tooltip="Edit, and ask again"),
        Binding("a", "act('apply')", "Apply", id="turn.apply", tooltip=APPLY),
        Binding("c", "act('copy')", "Copy", id="turn.copy"),
        Binding("y", "act('copy-code')", "Code", id="turn.copy_code", tooltip=CODE),
        Binding("r", "act('regenerate')", "Again", id="turn.regenerate", tooltip="Another answer"),
        Binding("s", "act('sources')", "Sources", id="turn.sources", tooltip=SOURCES),
        Binding("v", "toggle('colours')", "Colours", id="turn.view", tooltip="Tokens in colours"),
        Binding(
            "t", "toggle('thoughts')", "Thought", id="turn.thought", tooltip="Open the thought"
        ),
        Binding("i", "act('inspect')", "Inspect", id="turn.inspect", tooltip="Inspect every token"),
        Binding("g", "toggle('ghosts')", "Wrong guesses", id="turn.ghosts"),
        Binding("left", "act('older')", "Older", id="turn.older", tooltip="Older branch"),
        Binding("right", "act('newer')", "Newer", id="turn.newer", tooltip="Newer branch"),
        Binding("f", "act('fork')", "Fork", id="turn.fork", tooltip="Fork: continue in a copy"),
        Binding("d", "act('delete')", "Delete", id="turn.delete", tooltip="Delete from here on"),
    ]

    autofocused: reactive[bool] = reactive(False, init=False)
    """Whether the app gave it the focus, not the user: letters then go to the prompt."""
    record: reactive[StoredMessage] = reactive(NOT_STORED, init=False)
    """The message in the store."""

    @dataclass
    class Moved(Message):
        """The user pressed a key that scrolls or goes to another turn."""

        turn: "Turn"
        direction: int
        distance: Distance

    def __init__(self, author: str, record: StoredMessage) -> None:
        super().__init__()
        self.head = Head()
        self.text = ""
        """The content of the message."""
        self._author = author
        self.set_reactive(Turn.record, record)

    def compose(self) -> ComposeResult:
        """Begin with the head."""
        yield self.head

    def on_mount(self) -> None:
        """Show the time and the branch, and the date once a day is over."""
        self.watch_record()
        self.set_interval(MINUTE_S, lambda: Turn.watch_record(self))  # the head alone

    def watch_record(self) -> None:
        """Show the time and the branch of the stored message."""
        number, count = self._branch()
        branch = f" · branch {number}/{count}" if count > 1 else ""
        self.head.details = f" · {when(self.record.created)}{branch}"
        self._show_name()
        self.refresh_keys()

    @property
    def busy(self) -> bool:
        """Whether more is to come, so that the turn must stay as it is."""
        return self.record.state == "streaming"

    def offers(self, verb: Verb) -> bool:
        """Return whether there is something to do for the verb."""
        number, count = self._branch()
        match verb:
            case "copy":
                return bool(self.text)
            case "copy-code":
                return FENCE.search(self.text) is not None
            case "older":
                return not self.busy and number > 1
            case "newer":
                return not self.busy and number < count
            case "sources":
                return any(attachment.number for attachment in self.record.attachments)
            case "fork" | "delete":
                return not self.busy
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys that have nothing to do here."""
        if action == "act":
            return self.offers(parameters[0]) or None  # type: ignore[arg-type]
        return None if action == "toggle" else True

    def action_act(self, verb: Verb) -> None:
        """Ask the screen to act on the turn."""
        self.post_message(TurnAction(self, verb))

    def action_move(self, direction: int, distance: Distance = "lines") -> None:
        """Scroll within a turn that continues beyond the edge, or go to another turn."""
        self.post_message(self.Moved(self, direction, distance))

    def refresh_keys(self) -> None:
        """Update the keys in the footer."""
        if self.has_focus:
            self.refresh_bindings()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Mark the head too: a background alone is not seen on every terminal."""
        super().watch_has_focus(_has_focus)
        self.autofocused &= _has_focus
        self._show_name()

    def _show_name(self) -> None:
        author = model_name(self.record.model or self._author)
        style = "bold $text-accent" if self.has_focus else "bold"
        self.head.line = Content.styled(f"{'▸ ' if self.has_focus else ''}{safe(author)}", style)

    def _branch(self) -> tuple[int, int]:
        own, siblings = self.record.id, self.record.siblings
        return (siblings.index(own) + 1, len(siblings)) if own in siblings else (1, 1)


class UserTurn(Turn):
    """Show a message of the user's."""

    DEFAULT_CSS = """
    UserTurn { border-left: outer $primary; background: $boost; }
    UserTurn > TextView { height: auto; text-style: bold; }
    UserTurn > .chips { height: auto; color: $text-muted; }
    UserTurn.waiting { border-left: outer $warning; }
    UserTurn.waiting > TextView { color: $text-muted; text-style: none; }
    UserTurn:focus { border-left: thick $accent; }
    """

    def __init__(self, record: StoredMessage) -> None:
        super().__init__("You", record)
        self.text = record.content
        self._view = TextView(is_streaming=False, formatted=False)
        self._view.show([as_step(shorten(record.content))])
        self._chips = Static(classes="chips", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the head, the text and the attached files."""
        yield from super().compose()
        yield self._view
        yield self._chips

    def watch_record(self) -> None:
        """Show the attached files, and the passages that were found since."""
        super().watch_record()
        self._chips.display = bool(self.record.attachments)
        self._chips.update(chips(self.record.attachments))

    @property
    def busy(self) -> bool:
        """Whether it waits to be sent."""
        return self.has_class("waiting")

    def offers(self, verb: Verb) -> bool:
        """Return whether there is something to do for the verb."""
        return not self.busy if verb == "edit" else super().offers(verb)


def when(moment: float) -> str:
    """Return the time of day, after the date where it is not today's."""
    then, now = localtime(moment), localtime()
    if then[:3] == now[:3]:
        return strftime("%H:%M", then)
    recent = 0 <= time() - moment < MONTH_S * 6
    return strftime("%d %b %H:%M" if recent else "%d %b %Y %H:%M", then)


def turns_in(view: Widget) -> list[Turn]:
    """Return the turns on the screen, the newest last."""
    return [turn for turn in view.query_children(Turn) if turn.display]


def chips(attachments: Sequence[Attachment]) -> Content:
    """Return the attached files, with an @ as they are typed, and the passages that were found."""
    files = [file for file in attachments if not file.number]
    sizes = ["" if file.is_folder else f" · {byte_size(file.text)}" for file in files]
    names = [f" @{one_line(file.title)}{size} " for file, size in zip(files, sizes, strict=True)]
    attached = [Content.styled(name, "$foreground on $panel") for name in names]
    passages = [Content(one_line(file.title)) for file in attachments if file.number]
    return Content("  ").join([*attached, *passages])


def shorten(text: str) -> str:
    """Return a text, without its middle if it is very long."""
    if len(text) <= SHOWN:
        return text
    head, tail = text[: SHOWN * 2 // 3], text[-SHOWN // 3 :]
    return f"{head}\n⋯ {len(text) - len(head) - len(tail):,} characters not shown ⋯\n{tail}"
