"""ArS compared with SpS where both must agree: each difference is explained, or is a fault.

SpS draws from rows of a batch. They differ from those of single tokens by the noise of the batch's
width, so another token may come where two are nearly tied. That is so if the target alone draws the
same token from a row of that width, with nothing in the batch that was proposed and rejected, and
if the row is no farther from that of ArS than the noise that was measured. An engine whose kernels
for wide batches are wrong shows in that noise as well, by much more than noise.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.loops import autoregressive
from assistant.decoding.model import Logits, Model
from assistant.decoding.rules.rule import Rule
from assistant.decoding.sources.draft import Cascade
from assistant.decoding.warp import warp_with
from assistant.engine.batch_check import ERROR, NARROW, WIDE, error_of_wide_batches
from assistant.engine.control import Control
from assistant.engine.prompt_cache import PromptCache
from assistant.engine.reply import rule_of
from assistant.lab.protocol import Check, Layer
from assistant.lab.prove.pair import (
    DecodedText,
    ProvedPair,
    RecordingModel,
    empty_cache,
    imagined_controller,
    rounds_of,
)
from assistant.request import Request, Sampling

MAX_OFF = 2.0
"""The largest difference of rows relative to the measured noise, which may be exceeded."""
OTHER_TOKENS = "the target alone, at the same widths, gives other tokens"
OTHER_ROWS = "the target alone, at the same widths, has other rows"
TOO_FAR = "the rows differ by more than the noise of batches"
SNAPSHOT_BUDGET = 1 << 32  # bytes; the snapshot is removed after the comparison
MISREAD = "the engine computes wrong logits in wide batches"


class Way(NamedTuple):
    """A way to decode that leaves nothing to chance: at temperature 0, or with a seed."""

    layer: Layer
    sampling: Sampling
    seed: int | None
    control: Control
    controller: Controller | None = None

    @property
    def rule(self) -> Rule:
        """The rule of the answer, and by which the target draws alone."""
        return rule_of(Request((), seed=self.seed))


def ways(pair: ProvedPair) -> tuple[Way, Way, Way]:
    """Return a fixed lookahead, greedy and with a seed, and mode auto, with a seed."""
    fixed, auto = Control("sps", pair.lookahead), Control("auto")
    return (
        Way("greedy", Sampling(0), None, fixed),
        Way("seed", pair.warm, pair.seed, fixed),
        Way("turn", pair.warm, pair.seed, auto, imagined_controller()),
    )


def continue_text(
    pair: ProvedPair, text: DecodedText, length: int, way: Way, by_ars: bool = False
) -> DecodedText:
    """Continue a text as a chat does, with all its sources; or by ArS, the target alone."""
    target, warp, tokens = RecordingModel(pair.target), warp_with(way.sampling), text.tokens
    drafter = Cascade(*pair.sources)
    chat = rounds_of(target, drafter, tokens, length, way.rule, warp, way.control, way.controller)
    ars = islice(autoregressive(target, tokens, warp, way.rule), length)
    for round_ in ars if by_ars else chat:
        text.add(round_, target.rows)
    return text


def replay_rows(pair: ProvedPair, text: DecodedText) -> Iterator[tuple[int, Logits]]:
    """Yield the indices and rows of a text, computed again in batches as wide as those of the text.

    Rejected proposals are not in them: after the text's own tokens comes a filler. So each row is
    the one that the target has by itself, in a batch of that width.
    """
    pair.start(text.tokens[: text.start])
    for start, width, used in text.batches:
        tokens = [*text.tokens[: start + used - 1], *text.tokens[:1] * (width - used)]
        rows = pair.target.logits(tokens, width)
        yield from ((start + i, rows[i].copy()) for i in range(used))


def compare_texts(
    pair: ProvedPair, way: Way, name: str, ars: DecodedText, text: DecodedText, noise: float
) -> Check:
    """Check that a text is that of ArS and its rows are the target's own, or explain why not."""
    warp, rule = warp_with(way.sampling), way.rule
    count, identical, largest, note = 0, 0, 0.0, ""
    for index, row in replay_rows(pair, text):
        count += 1
        identical += np.array_equal(row, text.rows[index])
        largest = max(largest, largest_difference(row, text.rows[index]))
        if rule.draw(warp(row, text.tokens[:index]), index) != text.tokens[index]:
            note = OTHER_TOKENS
    if largest > noise:
        note = note or OTHER_ROWS
    figures: dict[str, float] = {
        "tokens": count,
        "proposed": text.proposed,
        "accepted": text.accepted,
        "identical rows": identical,
        "largest difference": largest,
    }
    indices = range(ars.start, min(len(ars.tokens), len(text.tokens)))
    parting = next((i for i in indices if ars.tokens[i] != text.tokens[i]), None)
    if parting is not None:
        off = largest_difference(ars.rows[parting], text.rows[parting])
        figures |= {"parting": parting - ars.start + 1, "off": off}
        if off > MAX_OFF * noise:
            note = note or TOO_FAR
    return Check(way.layer, name, not note, figures, note=note)


def check_texts(
    pair: ProvedPair, name: str, prompt: Sequence[int], length: int, noise: float
) -> Iterator[Check]:
    """Decode an answer by ArS and by SpS, in each way."""
    for way in ways(pair):
        ars = continue_text(pair, pair.start(prompt), length, way, by_ars=True)
        text = continue_text(pair, pair.start(prompt), length, way)
        yield compare_texts(pair, way, name, ars, text, noise)


def check_restored(pair: ProvedPair, prompt: Sequence[int], length: int, noise: float) -> Check:
    """Decode the second half of an answer after the first was restored from a snapshot."""
    name, way = "an answer that was half finished before", ways(pair)[1]._replace(layer="restored")
    ars = continue_text(pair, pair.start(prompt), length, way, by_ars=True)
    text = continue_text(pair, pair.start(prompt), length // 2, way, by_ars=True)
    slow: Any = AlwaysSnapshotModel(pair.target)
    with TemporaryDirectory() as folder:
        for is_written in (True, False):
            path = Path(folder) / "snapshots"
            with closing(PromptCache(slow, "proof", SNAPSHOT_BUDGET, path)) as prompt_cache:
                prompt_cache.prepare(text.tokens, stored=True)
                if is_written:
                    prompt_cache.save()
                    pair.target.logits([*reversed(text.tokens)], rows=0)
    if pair.target.cached(text.tokens) < len(text.tokens) - 1:
        return Check("restored", name, None, note="there was no room for a snapshot")
    continue_text(pair, text, length - length // 2, way)
    return compare_texts(pair, way, name, ars, text, noise)


class AlwaysSnapshotModel(RecordingModel):
    """A model whose prefill is so slow that all of it is worth a snapshot."""

    seconds_per_token = inf


def check_noise(target: Model, text: DecodedText, widths: Sequence[int]) -> Iterator[Check]:
    """Evaluate decoded tokens again, in batches; and a prompt in one batch and in several."""
    for width in widths:
        empty_cache(target).logits(text.tokens[: text.start - 1], rows=0)
        pairs = list[tuple[Logits, Logits]]()  # of rows, from a single token and from a batch
        for start in range(text.start, len(text.tokens) - width + 1, width):
            rows = target.logits(text.tokens[: start + width - 1], rows=width)
            pairs += ((text.rows[start + i], row.copy()) for i, row in enumerate(rows))
        figures = {
            "rows": len(pairs),
            "other best tokens": sum(int(one.argmax() != row.argmax()) for one, row in pairs),
            "largest difference": max(largest_difference(*both) for both in pairs),
        }
        error = float(np.mean([_error(*both) for both in pairs]))
        yield _noise_check(f"batches of {width} beside single tokens", error, figures)
    what = f"a prompt of {WIDE} tokens in one batch beside batches of {NARROW}"
    yield _noise_check(what, error_of_wide_batches(target), {})


def _noise_check(what: str, error: float, figures: dict[str, float]) -> Check:
    figures = {**figures, "relative error": error}
    return Check("noise", what, error < ERROR, figures, note="" if error < ERROR else MISREAD)


def largest_difference(one: Logits, other: Logits) -> float:
    """Return the largest difference between two rows; logits infinite in both do not differ."""
    with np.errstate(invalid="ignore"):
        return float(np.nanmax(np.abs(one - other)))


def _error(one: Logits, other: Logits) -> float:
    """Return the length of the difference over that of the row, less the mean of its logits."""
    finite = np.isfinite(one) & np.isfinite(other)
    length = float(np.linalg.norm(one[finite] - one[finite].mean()))
    return float(np.linalg.norm((other - one)[finite])) / (length or 1.0)
