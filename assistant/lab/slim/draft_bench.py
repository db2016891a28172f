"""Measure drafts beside their target: what a step costs, and how often a proposal is accepted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assistant.chat.prompt_tokens import ChatTokens
from assistant.decoding.lookahead.cost_measurement import in_turns
from assistant.lab.opening import Opener
from assistant.lab.slim.passages import Passage, SpeedForecast, answered, forecast, overlaps
from assistant.request import Message, Sampling
from models.gguf import FileVocabulary, read_vocabulary
from models.llama.model import LlamaModel
from models.mapping import Mapping

GREEDY = Sampling(temperature=0)
WIDTHS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class DraftFigures:
    """What was measured of a draft, and what follows for its target."""

    size: int  # bytes
    step: float  # of the draft, in evaluations of the target
    greedy: float  # acceptance rate of a proposal at temperature 0
    sampled: float  # and under the person's sampling
    forecast: SpeedForecast


class DraftBench:
    """Measures drafts of one target against a reference draft.

    The target is loaded only while this is made. A draft's step is timed in turns with that of the
    reference, which stays loaded, and so in evaluations of the target.
    """

    def __init__(
        self,
        target: Path,
        reference: LlamaModel,
        sampling: Sampling,
        opener: Opener,
        questions: Sequence[str],
        length: int,
    ) -> None:
        self._samplings = (sampling, GREEDY)
        self._vocabulary: FileVocabulary = read_vocabulary(target)
        with opener.open(target) as model:
            vocab = model.weights.vocab
            chat = ChatTokens(vocab)
            self._passages: list[Passage] = [
                answered(
                    model,
                    chat.encode([Message("user", question)]),
                    length,
                    self._samplings,
                    vocab.stop_tokens,
                )
                for question in questions
            ]
            self._context = max((each.tokens for each in self._passages), key=len)
            self._reference = _evaluation(reference, self._mapping(reference).known(self._context))
            verify = [_evaluation(model, self._context, width) for width in WIDTHS]
            taken, *widths = in_turns([self._reference, *verify])
        self._step = taken / widths[0]
        self._verify = {n: each / widths[0] for n, each in zip(WIDTHS, widths, strict=True)}

    def measure(self, draft: LlamaModel) -> DraftFigures:
        """Return the figures of a draft; raises `ModelError` when it does not serve the target."""
        mapping = self._mapping(draft)
        found = [overlaps(draft, mapping, each, self._samplings) for each in self._passages]
        sampled, greedy = ([each[i] for each in found] for i in range(2))
        own, reference = in_turns(
            [_evaluation(draft, mapping.known(self._context)), self._reference]
        )
        step = self._step * own / reference
        return DraftFigures(
            draft.weights.path.stat().st_size,
            step,
            float(np.mean(np.concatenate(greedy))),
            float(np.mean(np.concatenate(sampled))),
            forecast(sampled, step, self._verify),
        )

    def _mapping(self, draft: LlamaModel) -> Mapping:
        return Mapping.between(self._vocabulary, read_vocabulary(draft.weights.path))


def _evaluation(model: LlamaModel, tokens: Sequence[int], rows: int = 1) -> Callable[[], object]:
    """Return what evaluates the last `rows` of `tokens`, the others being cached already."""
    return lambda: model.logits(tokens, rows)
