"""The answers of `specchat ask`: printing them, their summary, and the JSON report."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from assistant.events import Decoded, Finished, ModelInfo, Origin, Ready, Stop, Token
from assistant.settings.settings import Settings
from assistant.stats import STATS_FIELDS, TOKEN_FIELDS
from assistant.store.values import MARKS, Attachment, StoredMessage
from models.errors import ModelError
from models.files.checksum import sha256_once
from tui.labels import MODES, constraint_figures, figures, named_sources
from tui.outlook import outlook
from tui.safe import safe

# Without colours, each origin has an attribute of its own.
COLOURED = {Origin.DRAFT: "green", Origin.RESIDUAL: "yellow", Origin.TARGET: ""}
DIM = Style(dim=True)
PLAIN = {Origin.DRAFT: "underline", Origin.RESIDUAL: "bold", Origin.TARGET: ""}


class Output(Console):
    """A console that raises BrokenPipeError, where rich would exit."""

    def on_broken_pipe(self) -> None:
        """Raise the error again."""
        raise


class AnswerPrinter:
    """Print an answer while it is generated."""

    def __init__(self, quiet: bool, thoughts: bool = False) -> None:
        self._out = Output(quiet=quiet, highlight=False, markup=False, soft_wrap=True)
        self._styles = PLAIN if self._out.no_color else COLOURED
        self._parts = ("answer", "thought") if thoughts else ("answer",)
        self._thinks = False  # the last printed token is reasoning
        self._open = False  # the answer has started and not ended

    def end(self) -> None:
        """End the answer; an empty one is an empty line."""
        self._open = True
        self.cut()

    def cut(self) -> None:
        """End the line of an answer that has started."""
        if self._open:
            self._out.print()
        self._open = self._thinks = False

    def add(self, tokens: Sequence[Token]) -> None:
        """Print tokens of the answer."""
        for token in tokens:
            if token.part not in self._parts:
                continue
            self._open = True
            style = self._out.get_style(self._styles[token.origin])
            thinks = token.part == "thought"
            if thinks:
                style += DIM
            elif self._thinks:
                self._out.print("\n")
            self._thinks = thinks
            # rich.Text would expand tabs.
            self._out.print(Segments([Segment(safe(token.text), style)]), end="")
        self._out.file.flush()


REMEDIES = {
    Stop.LENGTH: "raise --max-tokens, or limit the length in the form",
    Stop.CONTEXT: "raise --ctx, or limit the length in the form",
    Stop.STOP_STRING: "leave out --stop",
}
"""What to do when an answer ended before its form was complete, by stop reason."""
PASSAGE_FIELDS, RESULT_FIELDS = ("number", "name", "first", "last"), ("state", "stop", "seconds")
OPTIONAL = "reasoning_content", "calls", "sources", "unsupported"
"""The fields of a report that are left out where there is nothing to report."""


@dataclass(slots=True)
class ReceivedAnswer:
    """One answer, collected from its events."""

    tokens: list[Token] = field(default_factory=list)
    last: Decoded | None = None  # round
    finished: Finished | None = None
    results: list[StoredMessage] = field(default_factory=list)  # of its tool calls
    sources: tuple[Attachment, ...] = ()  # cited or quoted
    unsupported: tuple[str, ...] = ()  # sentences on unsupported claims

    def add(self, event: Decoded | Finished) -> None:
        """Add an event."""
        if isinstance(event, Finished):
            self.finished = event
        else:
            self.tokens += event.tokens
            self.last = event

    @property
    def cut(self) -> str | None:
        """The message for an answer that violates its constraint; None if it obeys."""
        end = self.finished
        if end is None or end.complete:
            return None
        remedy = REMEDIES.get(end.stop, "ask again")
        return f"The answer ended ({end.stop}) before the form was complete; {remedy}."

    def warnings(self, end: Finished, settings: Settings) -> list[str]:
        """Return the lines for a program: sources, unsupported claims, and why it was cut."""
        passing = settings.sources["max_tokens"].is_for_this_run
        cut = "" if end.stop == Stop.LENGTH and passing else MARKS.get(end.stop)
        return [*filter(None, [named_sources(end.text, self.sources), *self.unsupported, cut])]

    def summary(
        self, end: Finished, settings: Settings, constrained: bool, conversation: int | None
    ) -> list[str]:
        """Return the lines below a complete answer on a terminal."""
        none_tried = settings.mode != "ars" and not end.stats.drafted
        mode = MODES[settings.mode] + (", none tried" if none_tried else "")
        line = [*figures(end.stats), mode, *filter(None, [MARKS.get(end.stop)])]
        if conversation is not None:
            line.append(f"conversation {conversation}")
        sources = filter(None, [named_sources(end.text, self.sources)])
        lines = [*sources, *self.unsupported, " · ".join(line)]
        if end.stats.masked_rows and constrained:
            lines.append(constraint_figures(end.stats))
        if self.last is not None:
            guessing = outlook(self.last)
            if guessing.plain_tokens_per_s or (guessing.why and not end.stats.tested):
                lines.append(" ".join(filter(None, (f"{guessing.gain}.", guessing.why))))
        return lines


def report(
    answers: Sequence[ReceivedAnswer],
    ready: Ready | None,
    settings: Settings,
    conversation: int | None,
) -> dict[str, Any]:
    """Return the JSON report on the last answer, and those before it, which made tool calls."""
    *before, answer = answers
    end = answer.finished
    if ready is None or end is None:
        raise ModelError("There is no answer to report.")
    earlier = [_answer(previous, previous.finished) for previous in before if previous.finished]
    return {
        **_answer(answer, end),
        **({"before": earlier} if earlier else {}),
        "target": model_fields(ready.target, sha256_once),
        "draft": model_fields(ready.draft, sha256_once) if ready.draft else None,
        "engine": ready.engine,
        "sampling": asdict(settings.sampling),
        "seed": settings.seed,
        **({} if conversation is None else {"conversation": conversation}),
    }


def _answer(answer: ReceivedAnswer, finished: Finished) -> dict[str, Any]:
    fields = {
        "text": finished.text,
        "reasoning_content": finished.thought,
        "stop": str(finished.stop),
        **({} if finished.complete else {"complete": False}),  # it violates its constraint
        "calls": _calls(answer, finished),
        "sources": [_fields(source, PASSAGE_FIELDS) for source in answer.sources],
        "unsupported": answer.unsupported,
        "tokens": [_fields(token, TOKEN_FIELDS) for token in answer.tokens],
        "stats": _fields(finished.stats, STATS_FIELDS),
    }
    return {name: value for name, value in fields.items() if value or name not in OPTIONAL}


def _calls(answer: ReceivedAnswer, finished: Finished) -> list[dict[str, Any]]:
    results = {
        result.tool_calls[0].id: {"result": result.content, **_fields(result, RESULT_FIELDS)}
        for result in answer.results
    }
    return [asdict(call) | results.get(call.id, {}) for call in finished.tool_calls]


def _fields(value: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def model_fields(model: ModelInfo, sha256: Callable[[Path], str | None]) -> dict[str, Any]:
    """Return a model for a JSON report, with the checksum that `sha256` returns for its file."""
    return {"name": model.name, "path": str(model.path), "sha256": sha256(model.path)}
