"""An answer: its tokens while it streams, its words when it is complete."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.reactive import reactive
from textual.widgets import Static

from assistant.events import CallDelta
from assistant.stats import Stats
from assistant.tokens import Step, Trace
from tui.chat.conversation.answer_views import View, Views
from tui.chat.conversation.thought import Thought
from tui.chat.conversation.token_view import whole
from tui.chat.conversation.turn import Turn, Verb
from tui.figures import footnote
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store.values import Record, State


class Answer(Turn):
    """Show every token in the style of its origin, or the text as Markdown."""

    DEFAULT_CSS = """
    Answer > .footnote { height: auto; margin: 1 0 0 0; color: $text-muted; display: none; }
    Answer > .calling { height: 1; text-wrap: nowrap; color: $text-muted; display: none; }
    """
    view: reactive[View] = reactive[View]("tokens", init=False)
    """Whether tokens or words are shown."""
    ghosts: reactive[bool] = reactive(False, init=False)
    """Whether rejected drafts are shown between the tokens."""

    def __init__(
        self,
        model: str = "",
        record: "Record | None" = None,
        trace: Callable[[int], Trace] | None = None,
    ) -> None:
        super().__init__((record and record.model) or model or "Answer", record)
        self.steps: list[Step] = []
        """The rounds; those of a stored answer after `fetch_steps`."""
        self.state: State = record.state if record else "streaming"
        self.auto = True
        """Whether it is shown as words when it is complete; not after the user chose a view."""
        self.views = Views(growing=self.busy)
        self.views.text = record.content if record and not self.busy else ""
        self.thought = Thought(
            record.thought if record and not self.busy else "",
            record.stats if record else None,
            self.busy,
        )
        # How the current text was decoded, to be asked for once.
        self._recall = partial(_beginning, trace, record) if trace and record else None
        self._footnote = Static(classes="footnote", markup=False)
        self._calling = Static(classes="calling", markup=False)
        self._called = ""  # of a call that is being decoded

    def compose(self) -> ComposeResult:
        """Lay out the head, the text and the line below it."""
        yield from super().compose()
        yield self.thought
        yield self.views
        yield self._calling
        yield self._footnote

    def on_mount(self) -> None:
        """Show a stored answer as it is to be read."""
        super().on_mount()
        self.views.tokens.ghosts = self.ghosts
        record = self.record
        if record is not None and not self.busy and not self.steps:
            self.views.tokens.show([whole(self.text)])
            self.finish(below(record), self.state)

    @property
    def text(self) -> str:
        """The text so far."""
        return self.views.text

    @property
    def busy(self) -> bool:
        """Whether more is to come."""
        return self.state == "streaming"

    def add(self, step: Step) -> None:
        """Append what one round yielded; an answer that was over goes on."""
        if not self.busy:
            self.resume()
        self.steps.append(step)
        if (thought := step.part("thought")).tokens:
            begins = not self.thought.text
            self.thought.add(thought)
            if begins:
                self.changed()
        self.views.text += step.text
        self.views.tokens.add(step.part("answer"))
        if self.views.words is not None:
            self.views.words.add(step.text)

    def call(self, deltas: Sequence[CallDelta]) -> None:
        """Show what one round added to the calls of tools."""
        if not deltas:
            return
        self._called = self._called if self._calling.display else ""
        self._called += "".join(f"{each.name}{each.arguments}" for each in deltas)
        self._calling.display = True
        self._calling.update(safe(f"▸ Calling {' '.join(self._called.split())}"), layout=False)

    def tell(self, stats: Stats) -> None:
        """Take the figures of a round."""
        self.thought.tell(stats)
        if self.text and self.thought.growing:
            self.thought.grow(False)

    def finish(self, footnote: str, state: "State" = "complete") -> None:
        """Take the caret away, say below how the answer was decoded, and show it to be read."""
        self.state = state
        self.views.close()
        self.thought.grow(False)
        self._calling.display = False
        self._footnote.update(safe(footnote))
        self._footnote.display = bool(footnote)
        if self.auto and self.text.strip():
            self.view = "words"
        self.changed()

    def resume(self) -> None:
        """Continue with an answer that was stopped: rounds are added after those there are."""
        self.state, self.view = "streaming", "tokens"
        self._footnote.display = False
        self.views.reopen()
        self.run_worker(self.fetch_steps())
        self.changed()

    def prefer(self, words: bool) -> None:
        """Show a complete answer as words, or as tokens, as all answers are."""
        self.auto = words
        if not self.busy:
            self.view = "words" if words and self.text.strip() else "tokens"

    async def fetch_steps(self) -> None:
        """Have `steps` say how a stored answer was decoded; it is read beside the screen's work."""
        recall, self._recall = self._recall, None
        if recall is not None and (steps := await asyncio.to_thread(recall)):
            self.steps[:0] = steps
            self.views.hold()
            self.thought.show(step.part("thought") for step in self.steps)
            self.views.tokens.show(step.part("answer") for step in self.steps)

    def watch_view(self) -> None:
        """Change the view; tokens need to be known."""
        self.views.view = self.view
        if self.view == "tokens":
            self.run_worker(self.fetch_steps())

    def watch_ghosts(self, ghosts: bool) -> None:
        """Show rejected drafts, or no longer."""
        self.views.hold()
        self.views.tokens.ghosts = ghosts

    @on(Views.Changed)
    def explain(self) -> None:
        """Explain the colours that are seen."""
        self.head.explain(self.views.legends)
        self.changed()

    def offers(self, verb: Verb) -> bool:
        """Return whether there is something to do for the verb."""
        match verb:
            case "continue":
                return self.state in ("stopped", "failed") and bool(self.text or self.thought.text)
            case "regenerate":
                return not self.busy
            case "inspect":
                return bool(self.steps) or self._recall is not None
        return super().offers(verb)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer another look at the text when there is some."""
        if action == "toggle_thought":
            return bool(self.thought.text.strip())
        if action.startswith("toggle_"):
            return bool(self.text.strip())
        return super().check_action(action, parameters)

    def action_toggle_view(self) -> None:
        """Change between tokens and words."""
        self.auto = False
        self.view = "tokens" if self.view == "words" else "words"

    def action_toggle_thought(self) -> None:
        """Show all that was thought, or fold it to a line."""
        self.views.hold()
        self.thought.opened = not self.thought.opened

    def action_toggle_ghosts(self) -> None:
        """Show the rejected drafts, with the tokens they are among, or no longer."""
        self.ghosts = not (self.ghosts and self.view == "tokens")
        if self.ghosts:
            self.auto, self.view = False, "tokens"


def _beginning(trace: Callable[[int], Trace], record: "Record") -> list[Step]:
    """Return the rounds of a text: the store may know of later ones."""
    steps, length = list[Step](), len(record.content) + len(record.thought)
    for step in trace(record.id):
        if length <= 0:
            break
        steps.append(step)
        length -= len(step.text) + len(step.thought)
    return steps


def below(record: "Record") -> str:
    """Return the line below a stored answer."""
    end = record.stop, record.state, record.stats, bool(record.thought), record.calls
    return footnote(record.content, *end)
