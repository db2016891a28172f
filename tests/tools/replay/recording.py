"""Answers of real models as rows: all that the rounds of an answer read of target and draft.

A row is cut to its most probable tokens, and the answer is drawn from the cut row: so whatever is
proposed in a replay, and by whatever plan, the same tokens follow. Of the draft there are the rows
along the answer and, from each place where it would propose another token, those after that token.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assistant.decoding.model import Logits
from assistant.decoding.row import Row, highest
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


class CutRows:
    """Rows by a key, each with its most probable tokens."""

    def __init__(self, ids: np.ndarray, logits: np.ndarray) -> None:
        self.ids, self.logits = ids, logits

    def dense(self, index: int, n_vocab: int) -> Logits:
        """Return a row; the tokens that were cut off have minus infinity."""
        row = np.full(n_vocab, -np.inf, np.float32)
        known = self.ids[index] >= 0
        row[self.ids[index][known]] = self.logits[index][known]
        return row


@dataclass(frozen=True, slots=True)
class Answer:
    """A recorded answer."""

    question: Question
    n_vocab: int
    prompt: list[int]
    tokens: list[int]
    target: CutRows  # one for each token
    draft: CutRows  # one for each token
    off: CutRows  # up to `OFF` for each place where the draft proposes something else
    off_places: list[int]  # where each of them is after, ascending

    def save(self, path: Path) -> None:
        """Write it to a compressed file."""
        rows = {"target": self.target, "draft": self.draft, "off": self.off}
        arrays: dict[str, Any] = {f"{name}_ids": each.ids for name, each in rows.items()}
        arrays |= {f"{name}_logits": each.logits for name, each in rows.items()}
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
            CutRows(file[f"{name}_ids"], file[f"{name}_logits"].astype(np.float32))
            for name in ("target", "draft", "off")
        )
        prompt, tokens, off_places = (
            file[name].tolist() for name in ("prompt", "tokens", "off_places")
        )
        n_vocab = int(file["n_vocab"])
        return Answer(question, n_vocab, prompt, tokens, target, draft, off, off_places)


def answers() -> Iterator[Answer]:
    """Yield all recorded answers."""
    yield from (loaded(path) for path in sorted(FOLDER.glob("*.npz")))


class Recorder:
    """Cuts rows, and draws from what is left of them."""

    def __init__(self, question: Question) -> None:
        self._question, self._rule = question, question.rule
        self._kept = question.sampling.top_k if question.temperature else 2
        self._ids, self._logits = list[np.ndarray](), list[np.ndarray]()

    def add(self, row: Row) -> None:
        """Take the logits of a row's tokens."""
        self._ids.append(row.ids.astype(np.int32))
        self._logits.append(row.probs.astype(np.float16))

    def top(self, logits: Logits) -> Row:
        """Return the best tokens of a row, with their logits less the highest."""
        ids = highest(logits, self._kept)
        ids = ids[logits[ids] > -np.inf]
        return Row(ids, (logits[ids] - logits.max()).astype(np.float64))

    def drawn(self, n_vocab: int, context: list[int]) -> int:
        """Return the token that is drawn from the last row, after a context."""
        last = CutRows(self._ids[-1][None], self._logits[-1][None]).dense(0, n_vocab)
        row = warp(last.astype(np.float32), self._question.sampling, context)
        return self._rule.draw(row, len(context))

    @property
    def rows(self) -> CutRows:
        """All rows that were taken."""
        width = self._kept
        ids = np.full((len(self._ids), width), -1, np.int32)
        logits = np.full((len(self._ids), width), -np.inf, np.float16)
        for i, row in enumerate(self._ids):
            ids[i, : len(row)], logits[i, : len(row)] = row, self._logits[i]
        return CutRows(ids, logits)


def recorded(question: Question, target: Path, draft: Path) -> Answer:
    """Record an answer of a pair; it takes minutes."""
    with ExitStack() as opened:
        setup = EngineArgs(target, draft, 2048, measure=False, snapshots=0)
        assistant, _ = load(setup, Control(), lambda event: None, opened)
        prompt = assistant.chat.encode([Message("user", question.text)])
        n_vocab, stops = assistant.target.n_vocab, assistant.vocab.stop_tokens
        along, tokens = Recorder(question), list[int]()
        while len(tokens) < question.length and not stops.intersection(tokens[-1:]):
            context = [*prompt, *tokens]
            along.add(along.top(assistant.target.logits(context)[0]))
            tokens.append(along.drawn(n_vocab, context))
        source, guesses, off = assistant.sources[MODEL], Recorder(question), Recorder(question)
        off_places = list[int]()
        source.read(prompt)
        for place, token in enumerate(tokens):
            context = [*prompt, *tokens[:place]]
            guesses.add(source.row(context, lambda logits, history: guesses.top(logits))[0])
            guess = guesses.drawn(n_vocab, context)
            if guess == token:
                continue
            for _ in range(min(OFF, len(tokens) - place - 1)):
                context.append(guess)
                off.add(source.row(context, lambda logits, history: off.top(logits))[0])
                guess = off.drawn(n_vocab, context)
                off_places.append(place)
        return Answer(
            question, n_vocab, prompt, tokens, along.rows, guesses.rows, off.rows, off_places
        )
