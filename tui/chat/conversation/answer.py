"""An answer: its tokens while it streams, its words when it is complete."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.reactive import reactive
from textual.widgets import Static

from assistant.tokens import Step, Trace
from tui.chat.conversation.answer_views import View, Views
from tui.chat.conversation.footnote import footnote_of
from tui.chat.conversation.stored_steps import Recall
from tui.chat.conversation.turn import Turn, Verb
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store.values import Record, State


class Answer(Turn):
    """Show every token in the style of its origin, or the text as Markdown."""

    DEFAULT_CSS = """
    Answer > .footnote { height: auto; margin: 1 0 0 0; color: $text-muted; display: none; }
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
        super().__init__((record and record.model) or model or "Answer", record, classes="answer")
        self.steps: list[Step] = []
        """The rounds; those of a stored answer after `fetch_steps`."""
        self.state: State = record.state if record else "streaming"
        self.auto = True
        """Whether it is shown as words when it is complete; not after the person chose a view."""
        self.views = Views(growing=self.busy)
        self.views.text = record.content if record and not self.busy else ""
        self._recall = Recall(record, trace)
        self._footnote = Static(classes="footnote", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the head, the text and the line below it."""
        yield from super().compose()
        yield self.views
        yield self._footnote

    def on_mount(self) -> None:
        """Show a stored answer as it is to be read."""
        super().on_mount()
        self.views.tokens.ghosts = self.ghosts
        if self.record is not None and not self.busy and not self.steps:
            from tui.chat.conversation.markdown_view import whole  # brings Markdown

            self.views.show([whole(self.text)])
            self.finish(footnote_of(self.record), self.state)

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
        self.views.add(step)

    def finish(self, footnote: str, state: "State" = "complete") -> None:
        """Take the caret away, say below how the answer came about, and show it to be read."""
        self.state = state
        self.views.close()
        self._footnote.update(safe(footnote))
        self._footnote.display = bool(footnote)
        if self.auto and self.text.strip():
            self.view = "words"
        self.changed()

    def resume(self) -> None:
        """Go on with an answer that was stopped: rounds are added after those there are."""
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
        """Have `steps` say how a stored answer came about."""
        steps = await self._recall.steps()
        if steps:
            self.steps[:0] = steps
            self.views.show(self.steps)

    def watch_record(self) -> None:
        """Take the model's name from the store."""
        if self.record is not None and self.record.model:
            self.head.name_as(self.record.model)
        super().watch_record()

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
        self.head.explain(self.views.legend)
        self.changed()

    def offers(self, verb: Verb) -> bool:
        """Return whether there is something to do for the verb."""
        match verb:
            case "continue":
                return self.state in ("stopped", "failed") and bool(self.text)
            case "regenerate":
                return not self.busy
            case "inspect":
                return bool(self.steps) or self._recall.pending
        return super().offers(verb)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer another look at the text when there is some."""
        if action.startswith("toggle_"):
            return bool(self.text.strip())
        return super().check_action(action, parameters)

    async def action_act(self, verb: Verb) -> None:
        """Ask for it; whoever inspects the tokens finds them in `steps`."""
        if verb == "inspect":
            await self.fetch_steps()
        await super().action_act(verb)

    def action_toggle_view(self) -> None:
        """Change between tokens and words."""
        self.auto = False
        self.view = "tokens" if self.view == "words" else "words"

    def action_toggle_ghosts(self) -> None:
        """Show the rejected drafts, with the tokens they are among, or no longer."""
        self.ghosts = not (self.ghosts and self.view == "tokens")
        if self.ghosts:
            self.auto, self.view = False, "tokens"
