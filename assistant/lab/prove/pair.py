"""The pair that is proved, and texts with the rows that their tokens were drawn from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.loops import Round
from assistant.decoding.model import Logits, Model
from assistant.decoding.rules.rule import Rule
from assistant.decoding.sources.draft import Cascade, Source
from assistant.decoding.warp import Warp
from assistant.engine.control import Control
from assistant.engine.reply import Assistant
from assistant.engine.rounds import PlannedRound, Rounds
from assistant.request import Message, Sampling

EVALUATION_S = 1000.0
"""The time of an evaluation on an imagined machine, whatever its width: there, proposals always
pay. The draft's own seconds are still those of this machine, and nothing compared with these."""


class ProvedPair:
    """A target, all that proposes to it in a chat, and how it is sampled."""

    def __init__(self, assistant: Assistant, sampling: Sampling, lookahead: int, seed: int) -> None:
        self.target: Model = assistant.target
        self.sources: list[Source] = [*assistant.sources.values()]
        self.lookahead, self.seed = lookahead, seed
        self.warm = sampling if sampling.temperature else replace(sampling, temperature=1)
        """The user's sampling, or at temperature 0 one that leaves something to chance."""
        self._chat = assistant.chat

    def prompt(self, question: str, prefix: str = "") -> list[int]:
        """Return the tokens of a question, and of an answer that begins with `prefix`."""
        turns = [Message("user", question), *([Message("assistant", prefix)] if prefix else [])]
        return self._chat.encode(turns)

    def start(self, prompt: Sequence[int]) -> "DecodedText":
        """Return a text without an answer; its prompt is evaluated except for the last token."""
        empty_cache(self.target).logits(prompt[:-1], rows=0)
        return DecodedText(list(prompt), len(prompt))


def imagined_controller() -> Controller:
    """Return a controller of mode auto, on the imagined machine."""
    costs = Costs({1: EVALUATION_S, 32: EVALUATION_S}, {1: EVALUATION_S / 25, 512: EVALUATION_S})
    return Controller(costs)


def rounds_of(
    target: Any,
    drafter: Cascade,
    tokens: list[int],
    length: int,
    rule: Rule,
    warp: Warp,
    control: Control,
    controller: Controller | None = None,
    has_begun: bool = False,
) -> Iterator[Round]:
    """Yield the rounds by which a chat continues `tokens` by `length` more.

    No source proposes the first token of an answer, unless it `has_begun`.
    """
    start, limit = 0 if has_begun else len(tokens), len(tokens) + length
    rounds = Rounds(
        target, tokens, drafter, rule, warp, control, controller,
        answer_start=start, limit=limit, clock=target.clock,
    )  # fmt: skip
    return (step.round for step in rounds if isinstance(step, PlannedRound))


class RecordingModel:
    """A model that records its last rows."""

    def __init__(self, model: Model) -> None:
        self._model: Any = model
        self.rows: Any = ()
        self._seconds = 0.0

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Any:
        """Return what the model returns."""
        self._seconds += EVALUATION_S
        self.rows = self._evaluated(tokens, rows)
        return self.rows

    def _evaluated(self, tokens: Sequence[int], rows: int) -> Any:
        return self._model.logits(tokens, rows).copy()

    def clock(self) -> float:
        """Return the seconds of the imagined machine."""
        return self._seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


@dataclass(slots=True)
class DecodedText:
    """A prompt and what was decoded after it."""

    tokens: list[int]
    start: int  # where the answer begins
    rows: dict[int, Logits] = field(default_factory=dict)  # by index, that its token was drawn from
    batches: list[tuple[int, int, int]] = field(default_factory=list)
    """Of each evaluation: the index of its first row, its rows, and how many of them were used."""
    accepted: int = 0
    proposed: int = 0

    def add(self, round_: Round, rows: Logits) -> None:
        """Add the rows that a round's tokens, which are the last ones, were drawn from."""
        used = len(round_.tokens)
        start = len(self.tokens) - used
        self.batches.append((start, len(rows), used))
        self.rows.update((start + i, rows[i]) for i in range(used))
        self.accepted += round_.accepted
        self.proposed += round_.proposed


def empty_cache(model: Model) -> Model:
    """Return a model after emptying its cache."""
    model.logits([0], rows=0)
    return model
