"""An answer under way: what there is of it, and its end."""

from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.events import CallDelta, Decoded, Finished, Stop
from assistant.tokens import Step, Trace

if TYPE_CHECKING:
    from assistant.store.values import Record, State

WHOLE = (Stop.STOP_TOKEN, Stop.STOP_STRING)
"""Ends that leave nothing unsaid."""


class AnswerSoFar:
    """Collect the rounds of an answer.

    Args:
        record: the answer as it is kept.
        before: how it was decoded until it was cut, when it is continued.
    """

    def __init__(self, record: "Record", before: Trace = ()) -> None:
        self.record = record
        # An answer cut within a character continues with that character.
        self._begun = "".join(step.text for step in before) or record.content
        self._thought = "".join(step.thought for step in before) or record.thought
        self._before, self._steps = before, list[Step]()
        self.calls: list[CallDelta] = []
        """What was added to calls of tools since it began or was continued."""
        self.is_over = False
        """Whether its end is kept, or it was dropped."""

    @property
    def text(self) -> str:
        """The text so far."""
        return self._begun + "".join(step.text for step in self._steps)

    @property
    def thought(self) -> str:
        """The thought before it, so far."""
        return self._thought + "".join(step.thought for step in self._steps)

    @property
    def trace(self) -> Trace:
        """How it was decoded so far."""
        return (*self._before, *self._steps)

    def add(self, event: Decoded) -> Step:
        """Take a round; return it as it is shown and kept."""
        step = Step(event.tokens, event.ghosts)
        self._steps.append(step)
        self.calls += event.calls
        return step

    def is_nothing(self, event: Finished) -> bool:
        """Say whether it was stopped before its first word."""
        said = self.text or event.text or self.thought or event.thought or event.calls
        return event.stop is Stop.CANCELLED and not said

    def finished(self, event: Finished) -> "Record":
        """Return the whole of it, with the figures of what was there before as well."""
        record = self.record
        # Ids that do not cover all of the text would make the next prompt lack a part of it.
        covered = bool(record.token_ids) or not self._begun + self._thought
        stats = record.stats.plus(event.stats) if record.stats else event.stats
        return replace(
            record,
            content=self._begun + event.text,
            thought=self._thought + event.thought,
            token_ids=(*record.token_ids, *event.token_ids) if event.token_ids and covered else (),
            stats=stats,
            stop=str(event.stop),
            state="complete" if event.stop in WHOLE else "stopped",
            calls=event.calls,
        )

    def abandoned(self, state: "State") -> "Record":
        """Return what there is of an answer that did not finish."""
        return replace(
            self.record, content=self.text, thought=self.thought,
            token_ids=(), stats=None, stop=None, state=state, calls=(),
        )  # fmt: skip
