"""The user's pair in a proof: its questions, its draft sources, and its answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assistant.chat.prompt_tokens import ChatTokens
from assistant.decoding.lookahead.policy import Fixed
from assistant.decoding.loops import Round, autoregressive, speculative
from assistant.decoding.row import Row
from assistant.decoding.rules.rule import Rule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Source
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.warp import Warp, warp, warped
from assistant.engine.reply import Assistant
from assistant.request import Message, Sampling
from models.base import Logits, Model, MultiSequenceModel, SequenceTokens, Vocab
from models.mapping import Mapping

TURNS = (
    ("Tell me a story.", "There was once"),
    ("Write a Python function.", "def"),
    ("What do people keep in a kitchen?", "In a kitchen, people"),
    ("What is the weather like?", "It"),
    ("Write a short poem about the sea.", "The"),
    ("Name somebody famous.", "One of"),
)
"""Questions, and answers that have been begun so that much may follow."""
TASKS = (
    "Write a Python function that reverses the words of a sentence, and explain it.",
    "Why is the sky blue? Answer in a few sentences.",
    "List five rivers of Europe, each with the countries that it flows through.",
)
"""What is answered at some length."""
STAND_IN_TOKENS = 6
"""How many tokens a target proposes where it stands in for a draft."""


class StandIn(ModelSource):
    """The target itself instead of a draft: its best tokens, each half as likely as the last."""

    def row(self, tokens: Sequence[int], _warp: Warp) -> tuple[Row, int]:
        """Return a row of the target's own, in which only the order is right."""
        row, evidence = super().row(tokens, _best)
        probs = np.empty(len(row.ids))
        probs[np.argsort(-row.probs, kind="stable")] = 0.5 ** np.arange(len(row.ids))
        return Row(row.ids, probs / probs.sum()), evidence


def _best(logits: Logits, history: Sequence[int]) -> Row:
    return warp(logits, Sampling(1, STAND_IN_TOKENS, 1), history)


@dataclass(frozen=True, slots=True)
class ProvedPair:
    """A target and who proposes to it."""

    target: Model
    source: Source
    sources: tuple[Source, ...]
    """All that may propose in an answer, `source` among them."""
    several: MultiSequenceModel | None
    """The target, where it can hold several texts side by side."""
    vocab: Vocab
    chat: ChatTokens
    sampling: Sampling
    lookahead: int
    seed: int

    @property
    def warm(self) -> Sampling:
        """The user's sampling, or at temperature 0 one that leaves something to chance."""
        return self.sampling if self.sampling.temperature else replace(self.sampling, temperature=1)

    def prompt(self, question: str, begun: str = "") -> list[int]:
        """Return the tokens of a question, and of an answer that has been begun."""
        turns = [Message("user", question)]
        if begun:
            turns.append(Message("assistant", begun))
        return self.chat.encode(turns)


def paired(assistant: Assistant, sampling: Sampling, lookahead: int, seed: int) -> ProvedPair:
    """Return the pair of an assistant; without a draft, the target stands in for one."""
    target = assistant.target
    source = assistant.sources.get(ModelSource.name)
    if source is None:
        source = StandIn(target, Mapping.by_number(target.n_vocab, target.n_vocab))
    sources = tuple({**assistant.sources, source.name: source}.values())
    vocab, several = assistant.vocab, assistant.several
    chat = ChatTokens(vocab)
    return ProvedPair(target, source, sources, several, vocab, chat, sampling, lookahead, seed)


@dataclass(slots=True)
class DecodedText:
    """A prompt and what was decoded after it."""

    tokens: list[int]
    begin: int  # where the answer begins
    rows: dict[int, Logits] = field(default_factory=dict)  # of each place: what was drawn from
    batches: list[tuple[int, int, int]] = field(default_factory=list)
    """Of each evaluation: the place of its first row, how many rows, and how many were used."""
    accepted: int = 0
    proposed: int = 0

    @property
    def end(self) -> int:
        """How many tokens there are."""
        return len(self.tokens)

    def add(self, round_: Round, rows: Logits) -> None:
        """Note where a round's tokens, which are the last ones, were drawn from."""
        used = len(round_.tokens)
        start = self.end - used
        self.batches.append((start, len(rows), used))
        self.rows.update((start + i, rows[i]) for i in range(used))
        self.accepted += round_.accepted
        self.proposed += round_.proposed


class RecordingModel:
    """A model whose last rows are kept, and which texts each batch of several had."""

    def __init__(self, model: Model) -> None:
        self._model: Any = model
        self.rows: dict[int, Logits] = {}
        """By text; where there is only one, it is 0."""
        self.batches: list[tuple[int, ...]] = []

    def logits(self, tokens: Sequence[int], rows: int = 1, fillers: int = 0) -> Logits:
        """Return what the model returns."""
        self.rows = {0: self._model.logits(tokens, rows, fillers).copy()}
        return self.rows[0]

    def logits_of(self, texts: dict[int, SequenceTokens]) -> dict[int, Logits]:
        """Return what a model of several texts returns."""
        self.rows = {i: rows.copy() for i, rows in self._model.logits_of(texts).items()}
        self.batches.append(tuple(texts))
        return self.rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def ars(
    pair: ProvedPair, prompt: Sequence[int], length: int, sampling: Sampling, rule: Rule
) -> DecodedText:
    """Decode by ArS, from an empty cache on."""
    text, target = begun(pair, prompt), RecordingModel(pair.target)
    loop = autoregressive(target, text.tokens, warped(sampling), rule)
    return _decoded(text, loop, target, length)


def sps(
    pair: ProvedPair, prompt: Sequence[int], length: int, sampling: Sampling, rule: Rule
) -> DecodedText:
    """Decode by SpS with the model's proposals, from an empty cache on."""
    text, target = begun(pair, prompt), RecordingModel(pair.target)
    loop = speculative(
        target,
        Cascade(pair.source),
        text.tokens,
        lambda: Fixed(pair.lookahead),
        warped(sampling),
        rule,
    )
    return _decoded(text, loop, target, length)


def emptied(model: Model) -> Model:
    """Return a model that has forgotten everything."""
    model.logits([0], rows=0)
    return model


def begun(pair: ProvedPair, prompt: Sequence[int]) -> DecodedText:
    """Return a text of which only the prompt has been read, except its last token."""
    emptied(pair.target).logits(prompt[:-1], rows=0)
    return DecodedText(list(prompt), len(prompt))


def _decoded(
    text: DecodedText, loop: Iterator[Round], target: RecordingModel, length: int
) -> DecodedText:
    while text.end < text.begin + length:
        text.add(next(loop), target.rows[0])
    return text


def replayed(
    pair: ProvedPair, texts: Sequence[DecodedText], batches: Sequence[tuple[int, ...]] = ()
) -> list[list[tuple[int, Logits]]]:
    """Return each text's places and rows, computed again in batches as wide as those of the texts.

    What was proposed and rejected is not in them: after a text's own tokens comes a filler. So each
    row is the one that the target has by itself, in a batch of that width. `batches` tells which of
    several texts each had.
    """
    begun(pair, texts[0].tokens[: texts[0].begin])
    filler = texts[0].tokens[0]
    left = [iter(text.batches) for text in texts]
    rows: list[list[tuple[int, Logits]]] = [[] for _ in texts]
    for batch in batches or [(0,)] * len(texts[0].batches):
        parts = {i: next(left[i]) for i in batch}
        asked = {
            i: SequenceTokens(
                [*texts[i].tokens[: start + used - 1], *[filler] * (width - used)], width
            )
            for i, (start, width, used) in parts.items()
        }
        if batches and pair.several:
            found = dict(pair.several.logits_of(asked))
        else:
            found = {0: pair.target.logits(asked[0].tokens, asked[0].rows)}
        for i, (start, _, used) in parts.items():
            rows[i] += ((start + j, found[i][j].copy()) for j in range(used))
    return rows
