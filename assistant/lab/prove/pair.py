"""The person's own pair, as it is proved: what it is asked, and who proposes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assistant.chat.prompt_tokens import ChatTokens
from assistant.decoding.row import Row
from assistant.decoding.sources.draft import Source
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.warp import Warp, warp
from assistant.engine.reply import Assistant
from assistant.request import Message, Sampling
from models.base import Logits, Model, MultiSequenceModel, Vocab
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
    """The target itself in place of a draft: its best tokens, each half as likely as the last."""

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
        """The person's sampling, or at temperature 0 one that leaves something to chance."""
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


def warped(sampling: Sampling) -> Warp:
    """Return `warp` with its sampling chosen."""

    def warp_(logits: Logits, history: Sequence[int]) -> Row:
        return warp(logits, sampling, history)

    return warp_
