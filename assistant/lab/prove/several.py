"""Several answers to one request, decoded together as they are shipped, beside ArS of each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assistant.decoding.lookahead.policy import Control, Policy
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.sources.cascade import Cascade
from assistant.engine.decoding_sequence import DecodingSequence, own_sources, rule_of, warp_of
from assistant.engine.rounds import Rounds, SequenceRound
from assistant.lab.protocol import Check
from assistant.lab.prove.pair import ProvedPair
from assistant.lab.prove.side_by_side import by_ars, redrawn, untouched
from assistant.lab.prove.texts import DecodedText, begun
from assistant.lab.prove.turns import Hopeful, answer_to, request_of
from assistant.request import Mode
from models import base
from models.base import Logits, MultiSequenceModel

ANSWERS = 2
MODE: Mode = "sps"


class Recording:
    """A model of several texts whose last rows are kept, and which texts each batch had."""

    def __init__(self, model: MultiSequenceModel) -> None:
        self._model = model
        self.rows: Mapping[int, Logits] = {}
        self.batches: list[tuple[int, ...]] = []

    def logits_of(self, texts: Mapping[int, base.SequenceTokens]) -> Mapping[int, Logits]:
        """Return what the model returns."""
        self.rows = {i: rows.copy() for i, rows in self._model.logits_of(texts).items()}
        self.batches.append(tuple(texts))
        return self.rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def several(pair: ProvedPair, alone: DecodedText, length: int, noise: float) -> Iterator[Check]:
    """Have several answers be said together, each of which ArS says with its own seed."""
    if pair.several is None or pair.several.most_texts < ANSWERS:
        yield Check("several", "several answers", None, note="this model holds one text at a time")
        return
    prompt = alone.tokens[: alone.begin]
    texts, batches = _together(pair, pair.several, prompt, length)
    rows = _replayed(pair, pair.several, texts, batches)
    for i, text in enumerate(texts):
        seed = pair.seed + i
        said = by_ars(pair, prompt, length, seed) if i else alone
        replay = redrawn(text, rows[i], pair.warm, CoupledRule(seed))
        name = f"answer {i + 1} of {ANSWERS}"
        yield untouched("several", name, said, text, replay, noise)


def _together(
    pair: ProvedPair, model: MultiSequenceModel, prompt: list[int], length: int
) -> tuple[list[DecodedText], list[tuple[int, ...]]]:
    """Return the texts, and which of them were in each batch."""
    request, control = request_of(pair, MODE, length, ANSWERS), Control(MODE)
    model.settle(())
    texts = [begun(pair, prompt) for _ in range(ANSWERS)]
    target = Recording(model)
    answers = [answer_to(pair, request, text) for text in texts]
    sequences = [
        DecodingSequence(
            i, text.tokens, answers[i], Cascade(*own_sources(pair.sources)), rule_of(request, i)
        )
        for i, text in enumerate(texts)
    ]
    policy, warp = Policy(control, Hopeful()), warp_of(request, control)
    for step in Rounds(target, sequences, policy, warp):
        if isinstance(step, SequenceRound):
            number = step.sequence.number
            texts[number].add(step.round, target.rows[number])
            answers[number].add(step.round)
    model.settle(())
    return texts, target.batches


def _replayed(
    pair: ProvedPair,
    model: MultiSequenceModel,
    texts: Sequence[DecodedText],
    batches: Sequence[tuple[int, ...]],
) -> list[list[tuple[int, Logits]]]:
    """Return each text's places and rows, computed anew in the same batches.

    What was proposed and rejected is not in them: a filler has its place.
    """
    begun(pair, texts[0].tokens[: texts[0].begin])
    filler = texts[0].tokens[0]
    left = [iter(text.batches) for text in texts]
    rows: list[list[tuple[int, Logits]]] = [[] for _ in texts]
    for batch in batches:
        parts = {i: next(left[i]) for i in batch}
        found = model.logits_of(
            {
                i: base.SequenceTokens(
                    [*texts[i].tokens[: start + used - 1], *[filler] * (width - used)], width
                )
                for i, (start, width, used) in parts.items()
            }
        )
        for i, (start, _, used) in parts.items():
            rows[i] += ((start + j, found[i][j].copy()) for j in range(used))
    model.settle(())
    return rows
