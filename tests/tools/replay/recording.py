"""Answers of real models as rows: all that the rounds of an answer read of target and draft.

A row is cut to its most probable tokens, and the answer is drawn from the cut row: so whatever is
proposed in a replay, and by whatever plan, the same tokens follow. Of the draft there are the rows
along the answer and, from each place where it would propose another token, those after that token.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assistant.decoding.model import Logits
from assistant.decoding.row import Row, top_indices
from assistant.decoding.rules.rule import Rule
from assistant.decoding.sources.model import MODEL
from assistant.decoding.warp import warp
from assistant.engine.control import Control
from assistant.engine.load import load
from assistant.engine.reply import rule_of
from assistant.request import EngineArgs, Message, Request, Sampling

FOLDER = Path(__file__).with_name("answers")
OFF = 6
"""Rows of the draft after a token that is not the answer's."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to record, and how its answer is drawn."""

    name: str
    kind: str
    text: str
    temperature: float = 0.0
    seed: int = 0
    length: int = 110

    @property
    def sampling(self) -> Sampling:
        """The sampling that a chat begins with, at this temperature."""
        return Sampling(temperature=self.temperature)

    @property
    def rule(self) -> Rule:
        """The rule by which each token depends on its place and the target's row alone."""
        return rule_of(Request((), seed=self.seed))


@dataclass(frozen=True, slots=True)
class Answer:
    """A recorded answer."""

    question: Question
    n_vocab: int
    prompt: list[int]
    tokens: list[int]
    target: list[Row]  # logits, one row for each token
    draft: list[Row]  # one for each token
    off: list[Row]  # up to `OFF` for each place where the draft proposes something else
    off_places: list[int]  # where each of them is after, ascending

    def save(self, path: Path) -> None:
        """Write it to a compressed file."""
        arrays: dict[str, Any] = {}
        for name, rows in (("target", self.target), ("draft", self.draft), ("off", self.off)):
            shape = len(rows), max((len(row.ids) for row in rows), default=0)
            ids, logits = np.full(shape, -1, np.int32), np.full(shape, -np.inf, np.float16)
            for i, row in enumerate(rows):
                ids[i, : len(row.ids)], logits[i, : len(row.ids)] = row.ids, row.probs
            arrays |= {f"{name}_ids": ids, f"{name}_logits": logits}
        np.savez_compressed(
            path,
            question=np.array(list(asdict(self.question).values()), dtype=str),
            n_vocab=self.n_vocab,
            prompt=np.array(self.prompt, np.int32),
            tokens=np.array(self.tokens, np.int32),
            off_places=np.array(self.off_places, np.int16),
            **arrays,
        )


def loaded(path: Path) -> Answer:
    """Read an answer from a file."""
    with np.load(path) as file:
        name, kind, text, temperature, seed, length = file["question"].tolist()
        question = Question(name, kind, text, float(temperature), int(seed), int(length))
        target, draft, off = (
            [
                Row(ids[ids >= 0], logits[ids >= 0])
                for ids, logits in zip(file[f"{name}_ids"], file[f"{name}_logits"], strict=True)
            ]
            for name in ("target", "draft", "off")
        )
        prompt, tokens, off_places = (
            file[name].tolist() for name in ("prompt", "tokens", "off_places")
        )
        n_vocab = int(file["n_vocab"])
        return Answer(question, n_vocab, prompt, tokens, target, draft, off, off_places)


def dense(row: Row, n_vocab: int) -> Logits:
    """Return all logits of a row; the tokens that were cut off have minus infinity."""
    logits = np.full(n_vocab, -np.inf, np.float32)
    logits[row.ids] = row.probs
    return logits


def answers() -> Iterator[Answer]:
    """Yield all recorded answers."""
    yield from (loaded(path) for path in sorted(FOLDER.glob("*.npz")))


def recorded(question: Question, target: Path, draft: Path) -> Answer:
    """Record an answer of a pair; it takes minutes."""
    with ExitStack() as opened:
        setup = EngineArgs(target, draft, 2048, measure=False, snapshots=0)
        assistant, _ = load(setup, Control(), lambda event: None, opened)
        prompt = assistant.chat.encode([Message("user", question.text)])
        n_vocab, stops = assistant.target.n_vocab, assistant.vocab.stop_tokens
        kept = question.sampling.top_k if question.temperature else 2

        def cut(logits: Logits, history: Sequence[int] = ()) -> Row:
            ids = top_indices(logits, kept)
            ids = ids[logits[ids] > -np.inf]
            return Row(ids, (logits[ids] - logits.max()).astype(np.float16))

        def drawn(row: Row, context: list[int]) -> int:
            warped = warp(dense(row, n_vocab), question.sampling, context)
            return question.rule.draw(warped, len(context))

        rows, tokens = list[Row](), list[int]()
        while len(tokens) < question.length and not stops.intersection(tokens[-1:]):
            context = [*prompt, *tokens]
            rows.append(cut(assistant.target.logits(context)[0]))
            tokens.append(drawn(rows[-1], context))
        source, guesses, off, off_places = assistant.sources[MODEL], list[Row](), list[Row](), []
        source.read(prompt)
        for place, token in enumerate(tokens):
            context = [*prompt, *tokens[:place]]
            guesses.append(source.row(context, cut)[0])
            guess = drawn(guesses[-1], context)
            if guess == token:
                continue
            for _ in range(min(OFF, len(tokens) - place - 1)):
                context.append(guess)
                off.append(source.row(context, cut)[0])
                guess = drawn(off[-1], context)
                off_places.append(place)
        return Answer(question, n_vocab, prompt, tokens, rows, guesses, off, off_places)
