"""A flattened model beside its source: what evaluations cost, and how far its answers are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assistant.decoding.lookahead.cost_measurement import in_turns, varied
from assistant.decoding.lookahead.theory import TYPICAL, fastest
from assistant.lab.opening import Opener
from assistant.lab.slim.divergence import Divergence, divergence, passages
from assistant.lab.slim.draft_bench import WIDTHS, evaluation
from assistant.lab.slim.sample_text import written_everywhere
from models.native.model import NativeModel

GAIN = 1.03
"""How much faster answers must promise to be: less is noise."""
DEPTH = 64
"""Tokens before those of a batch."""
PROMPT_TOKENS = 128
PROMPT_TURNS = 4


@dataclass(frozen=True, slots=True)
class FlatFigures:
    """What was measured of both, in turns; seconds are (source, flattened)."""

    verify: Mapping[int, tuple[float, float]]  # by the width of a batch
    prefill: tuple[float, float]  # tokens per second
    divergence: Divergence

    @property
    def plain(self) -> float:
        """How many times as fast it answers without speculation."""
        source, flat = self.verify[1]
        return source / flat

    @property
    def speedup(self) -> float:
        """How many times as fast it answers where 8 of 10 proposals are accepted.

        Each of the two with the lookahead that is best for it, 0 included, and proposals that take
        no time.
        """
        source, flat = (
            fastest(TYPICAL, {n: both[i] for n, both in self.verify.items()}, 0.0)[1]
            for i in range(2)
        )
        return flat / source

    @property
    def helps(self) -> bool:
        """Whether it is worth keeping on this machine."""
        return self.speedup >= GAIN


def measure(source: Path, flat: Path, opener: Opener, say: Callable[[str], object]) -> FlatFigures:
    """Measure a flattened file beside its source; `say` is told what begins.

    Raises:
        ModelError: one of them cannot be run.
    """
    say("loading both")
    with opener.open(source) as first, opener.open(flat) as second:
        both = first, second
        say("measuring what evaluations cost")
        tokens = varied(DEPTH + max(WIDTHS), first.n_vocab)
        prompt = varied(PROMPT_TOKENS, first.n_vocab)
        taken = in_turns([evaluation(m, tokens[: DEPTH + n], n) for n in WIDTHS for m in both])
        read = in_turns([_reading(model, prompt) for model in both], PROMPT_TURNS)
        say("comparing what they would write")
        texts = passages(first.weights.vocab, list(written_everywhere()))
        return FlatFigures(
            dict(zip(WIDTHS, zip(taken[::2], taken[1::2], strict=True), strict=True)),
            (PROMPT_TOKENS / read[0], PROMPT_TOKENS / read[1]),
            divergence(first, second, texts),
        )


def _reading(model: NativeModel, prompt: Sequence[int]) -> Callable[[], object]:
    def read() -> None:
        model.truncate(0)
        model.logits(prompt)

    return read
