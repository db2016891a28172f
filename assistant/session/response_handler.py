"""The answer under way: saved and shown as it comes, until its end."""

from dataclasses import replace
from threading import Lock

from assistant.events import Decoded, Event, Failed, Finished, Prepared, Step, Stop, Trace, Warned
from assistant.session.active_branch import ActiveBranch
from assistant.session.citing import question_passages, sources
from assistant.session.events import Added, AnswerEnded, Changed, Emit, InputRestored
from assistant.store.values import Attachment, State, StoredMessage

WHOLE = (Stop.STOP_TOKEN, Stop.STOP_STRING)  # ends after which an answer is whole


class PartialAnswer:
    """Collect the rounds of an answer; `before` has those of an answer that is continued."""

    def __init__(self, record: StoredMessage, before: Trace = ()) -> None:
        self.record = record
        self.rounds: list[Decoded] = []
        """Those since it began or was continued."""
        self._before = before
        # An answer cut within a character continues with that character.
        self._text_before = "".join(step.text for step in before) or record.content
        self._thought_before = "".join(step.thought for step in before) or record.thought

    @property
    def trace(self) -> Trace:
        """How it was decoded so far."""
        return (*self._before, *(Step(event.tokens, event.rejected) for event in self.rounds))

    def finished(self, event: Finished) -> StoredMessage:
        """Return the whole answer, with the figures of its earlier parts as well."""
        record = self.record
        # Ids that do not cover all of the text would make the next prompt lack a part of it.
        covers_before = record.token_ids or not (self._text_before or self._thought_before)
        covers_rest = event.token_ids or not (event.text or event.thought or event.tool_calls)
        stats = record.stats.plus(event.stats) if record.stats else event.stats
        return replace(
            record,
            content=self._text_before + event.text,
            thought=self._thought_before + event.thought,
            token_ids=record.token_ids + event.token_ids if covers_before and covers_rest else (),
            stats=stats,
            stop=str(event.stop),
            state="complete" if event.stop in WHOLE else "stopped",
            tool_calls=event.tool_calls,
        )

    def abandoned(self, state: State) -> StoredMessage:
        """Return the answer as far as it came; it did not finish."""
        steps = self.trace[len(self._before) :]
        if not steps and state != "streaming":
            return self.record  # continuing it added nothing
        return replace(
            self.record,
            content=self._text_before + "".join(step.text for step in steps),
            thought=self._thought_before + "".join(step.thought for step in steps),
            token_ids=(), stats=None, stop=None, state=state, tool_calls=(),
        )  # fmt: skip


class ResponseHandler:
    """Save and show an answer by the events of the engine.

    The answer may belong to another conversation than the one on the screen.
    """

    def __init__(self, emit: Emit, branch: ActiveBranch) -> None:
        self._emit, self._branch = emit, branch
        self.under_way: PartialAnswer | None = None
        """The answer, until it has ended."""
        self._passages: dict[int, Attachment] = {}  # which it may quote
        self._warned = set[tuple[int | None, str]]()  # once in each conversation
        self._streaming = Lock()  # so that no older state is written after the end

    def start(self, answer: PartialAnswer) -> None:
        """Show an answer that starts or is continued."""
        self.under_way = answer
        self._passages = question_passages(self._branch.records[:-1])
        streaming = replace(answer.record, state="streaming")
        self._emit(Added(streaming) if streaming == answer.record else Changed(streaming))

    def save(self) -> None:
        """Save the answer as far as it is, on any thread; StorageError if that fails."""
        with self._streaming:
            if (answer := self.under_way) is not None:
                self._branch.stream(answer.abandoned("streaming"), answer.trace)

    def handle(self, event: Event) -> None:
        """Handle an event of the engine."""
        match event:
            case Prepared(dropped_turns=dropped) if dropped:
                self._emit(Warned(f"Left out to fit the context: the oldest turns ({dropped})."))
            case Warned(text):
                warning = self._branch.conversation, text
                if warning not in self._warned:
                    self._warned.add(warning)
                    self._emit(event)
            case Decoded() if self.under_way is not None:  # else the program ends
                self.under_way.rounds.append(event)
            case Finished(stop=stop, complete=is_complete):
                if self.under_way and not is_complete and stop is not Stop.CANCELLED:
                    self._emit(Warned("The answer ended before its form was complete."))
                self.end("stopped", event)
            case Failed(message):
                self.end("failed")
                self._emit(Warned(message, "error"))

    def end(self, state: State, finished: Finished | None = None) -> None:
        """Save an answer by its last event, or as far as it came; drop one without text."""
        with self._streaming:
            answer, self.under_way = self.under_way, None
        if answer is None:  # the program ends
            return
        ended = answer.finished(finished) if finished else answer.abandoned(state)
        is_empty = not (ended.content or ended.thought or ended.tool_calls)
        if is_empty and (finished is None or finished.stop is Stop.CANCELLED):
            self._drop_empty(answer.record)
        else:
            if self._passages:
                ended = replace(ended, attachments=sources(ended.content, self._passages))
            self._emit(Changed(self._branch.update(ended, answer.trace)))
        self._emit(AnswerEnded())

    def _drop_empty(self, answer: StoredMessage) -> None:
        """Drop an empty answer; a question without another answer returns to the input."""
        branch, is_shown = self._branch, self._branch.shows(answer)
        branch.remove(answer)
        if not is_shown:  # it is of another conversation
            return
        if len(answer.siblings) > 1 and branch.writes:
            branch.undo_cut()
        elif (question := branch.records[-1]).role == "user":
            self.return_question(question)

    def return_question(self, question: StoredMessage) -> None:
        """Hide a question that was not answered, and have its text restored in the input."""
        self._branch.remove(question)
        self._emit(InputRestored(question.content, question.attachments))
