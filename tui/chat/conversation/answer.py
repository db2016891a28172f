"""An answer: its text, its thought, and how it was decoded."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.reactive import reactive
from textual.widgets import Static

from assistant.events import CallDelta, Origin, Step
from assistant.session.active_branch import ActiveBranch
from assistant.session.support import Support, check, wrong_citations
from assistant.stats import Stats
from assistant.store.values import StoredMessage
from tui.chat.conversation.thought import Thought
from tui.chat.conversation.turn import Turn, Verb
from tui.labels import TO_MESSAGES, footnote, named_sources
from tui.safe import one_line, safe
from tui.text.text_view import TextView, as_step
from tui.text.token_styles import legend, styles


class Answer(Turn):
    """Show an answer formatted, every token in the style of its origin, also while it streams."""

    DEFAULT_CSS = """
    Answer > .footnote { height: auto; margin: 1 0 0 0; color: $text-muted; display: none; }
    Answer > .calling { height: 1; text-wrap: nowrap; color: $text-muted; display: none; }
    """
    colours: reactive[bool] = reactive(True, init=False)
    """Whether tokens are shown in the styles of their origins."""
    ghosts: reactive[bool] = reactive(False, init=False)
    """Whether rejected drafts are shown between the tokens."""
    thoughts: reactive[bool] = reactive(False, init=False)
    """Whether all of the thought is shown."""

    def __init__(self, record: StoredMessage, branch: ActiveBranch) -> None:
        super().__init__("Answer", record)
        self._active_branch = branch
        self.steps: list[Step] = []
        """The rounds; those of a stored answer after `fetch_steps`."""
        self._opened_again = not self.busy
        self.tokens = TextView(is_streaming=self.busy)
        self.thought = Thought(record.thought, record.stats, self.busy)
        self._files = ""  # the names of those that it holds
        self.text = "" if self.busy else record.content
        # Reads the rounds of the stored text; it is called once.
        self._read_steps = None if self.busy else partial(branch.rounds_of, record)
        self._footnote = Static(classes="footnote", markup=False)
        self._calling = Static(classes="calling", markup=False)
        self._call = ""  # the text of a tool call that is being decoded

    def compose(self) -> ComposeResult:
        """Lay out the head, the text and the line below it."""
        yield from super().compose()
        self.tokens.set_reactive(TextView.ghosts, self.ghosts)
        self.tokens.set_reactive(TextView.colours, self.colours)
        self.thought.opened = self.thoughts
        if self.thought.text:
            yield self.thought
        yield self.tokens
        yield self._calling
        yield self._footnote

    def on_mount(self) -> None:
        """Show a stored answer."""
        record = self.record
        if not self.busy and not self.steps:
            self.tokens.show([as_step(self.text)])
            self.end(record)
            self._fetch()

    def add(self, step: Step) -> None:
        """Append a round; an answer that had ended continues."""
        if not self.busy:
            self.resume()
        self.steps.append(step)
        if (thought := step.part("thought")).tokens:
            if self.tokens.parent and not self.thought.parent:  # most answers need none
                self.mount(self.thought, before=self.tokens)
                self.refresh_keys()
            self.thought.add(thought)
        self.text += step.text
        self.tokens.add(step.part("answer"))

    def show_call(self, deltas: Sequence[CallDelta]) -> None:
        """Show what one round added to the tool calls."""
        if not deltas:
            return
        self._call += "".join(f"{delta.name}{delta.arguments}" for delta in deltas)
        self._calling.display = True
        self._calling.update(safe(f"▸ Calling {' '.join(self._call.split())}"), layout=False)

    def show_stats(self, stats: Stats) -> None:
        """Show the figures of a thought so far."""
        if self.thought.is_streaming:
            self.thought.show_stats(stats)
            self.thought.set_streaming(not self.text)

    def end(self, record: StoredMessage) -> None:
        """Remove the caret, strike citations without support, and show how the answer ended."""
        from assistant.edit.proposals import names  # after the first frame

        records = self._active_branch.records
        support = check(record, records)
        self.record = record
        self._files = names(record, records)
        wrong = wrong_citations(record.content, support.wrong)
        self.tokens.marks = [(begin, end, "strike") for begin, end in wrong]
        self.tokens.set_streaming(False)
        self.thought.set_streaming(False)
        self._calling.display, self._call = False, ""
        footnote = footer_lines(record, support, self._opened_again)
        if self._files:
            footnote += f" · {TO_MESSAGES}, a writes {self._files}"
        self._footnote.update(safe(footnote))
        self._footnote.display = bool(footnote)
        self.refresh_keys()

    def resume(self) -> None:
        """Continue an answer that was stopped: new rounds follow the existing ones."""
        self.record = replace(self.record, state="streaming")
        self.tokens.marks = ()
        self._footnote.display = False
        self.tokens.set_streaming(True)
        self.thought.set_streaming(not self.text)
        self._fetch()
        self.refresh_keys()

    def _fetch(self) -> None:
        if self._read_steps is not None and (self.colours or self.ghosts or self.busy):
            self.run_worker(self.fetch_steps())

    async def fetch_steps(self) -> None:
        """Read the rounds of a stored answer into `steps`, in a thread."""
        read, self._read_steps = self._read_steps, None
        if read is not None and (steps := await asyncio.to_thread(read)):
            self.steps[:0] = steps
            self.thought.show(step.part("thought") for step in self.steps)
            self.tokens.show(step.part("answer") for step in self.steps)
        self.refresh_keys()

    @on(TextView.KindsChanged)
    def _update_legend(self) -> None:
        """Explain in the head the colours that are shown, if there are any."""
        kinds = self.tokens.kinds
        if kinds <= {Origin.TARGET}:
            kinds = set()
        self.head.legend = legend(styles(self.app.no_color), kinds)
        self.refresh_keys()

    def watch_colours(self, colours: bool) -> None:
        """Show the tokens in the styles of their origins, or the text alone."""
        self.tokens.colours = colours
        self._fetch()

    def watch_ghosts(self, ghosts: bool) -> None:
        """Show or hide rejected drafts."""
        self.tokens.ghosts = ghosts
        self._fetch()

    def watch_thoughts(self, opened: bool) -> None:
        """Show all of the thought, or fold it to a line."""
        self.thought.opened = opened

    def offers(self, verb: Verb) -> bool:
        """Return whether there is something to do for the verb."""
        match verb:
            case "continue":
                has_begun = bool(self.text or self.thought.text)
                return self.record.state in ("stopped", "failed") and has_begun
            case "regenerate":
                return not self.busy
            case "apply":
                return not self.busy and bool(self._files)
            case "inspect":
                return bool(self.steps) or self._read_steps is not None
        return super().offers(verb)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to show the text or the thought otherwise where there is one."""
        if action == "toggle":
            subject = self.thought if parameters == ("thoughts",) else self
            return bool(subject.text.strip()) or None
        return super().check_action(action, parameters)


def footer_lines(record: StoredMessage, support: Support, is_opened_again: bool) -> str:
    """Return the lines below an answer: its sources, warnings, and how it was decoded."""
    sources = named_sources(record.content, record.attachments)
    unfound = support.unfound if is_opened_again else ""  # a new answer has said so before
    lines = (one_line(line) for line in (sources, unfound, *support.warnings))
    return "\n".join(filter(None, (*lines, footnote(record))))
