"""ArS compared with SpS where both must agree: each difference is explained, or is a fault.

SpS draws from rows of a batch. They differ from those of single tokens by the noise of the batch's
width, so another token may come where two are nearly tied. That is so if the target alone draws the
same token from a row of that width, with nothing in the batch that was proposed and rejected, and
if the row is no farther from that of ArS than the noise that was measured.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import Rule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.warp import warped
from assistant.lab.protocol import Check, Layer
from assistant.lab.prove.batch_noise import gap
from assistant.lab.prove.pair import DecodedText, ProvedPair, ars, replayed, sps
from assistant.request import Sampling
from models.base import Logits

APART = 2.0
"""Times the largest noise measured that a row may be off: there may be larger noise than that."""
STRAYS = "the target alone, at the same widths, gives other tokens"
TOO_FAR = "the rows differ by more than the noise of batches"
TRACE = "the target alone, at the same widths, has other rows"


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What became of a text that was read again at the same widths."""

    same: int  # tokens that came out again
    identical: int  # rows that are the same to the last bit
    largest: float  # difference of two logits
    rows: int


def by_ars(pair: ProvedPair, prompt: list[int], length: int, seed: int | None) -> DecodedText:
    """Decode after a prompt by ArS, at temperature 0 or with a seed."""
    return ars(pair, prompt, length, *_chance(pair, seed))


def compare(
    pair: ProvedPair, name: str, alone: DecodedText, noise: float, seed: int | None
) -> Iterator[Check]:
    """Decode by SpS what was decoded by ArS, and yield what was found."""
    sampling, rule = _chance(pair, seed)
    prompt, length = alone.tokens[: alone.begin], alone.end - alone.begin
    batched = sps(pair, prompt, length, sampling, rule)
    replay = replayed_with(pair, batched, sampling, rule)
    layer: Layer = "greedy" if seed is None else "seed"
    yield same_text(layer, name, alone, batched, replay, noise)
    yield rolled_back(name, batched, replay, noise)


def _chance(pair: ProvedPair, seed: int | None) -> tuple[Sampling, Rule]:
    if seed is None:
        return Sampling(0), TokenRule(np.random.default_rng(0))
    return pair.warm, CoupledRule(seed)


def replayed_with(
    pair: ProvedPair, text: DecodedText, sampling: Sampling, rule: Rule
) -> ReplayResult:
    """Draw each token of a text again, from rows of the same widths."""
    return redrawn(text, replayed(pair, [text])[0], sampling, rule)


def redrawn(
    text: DecodedText, rows: Iterable[tuple[int, Logits]], sampling: Sampling, rule: Rule
) -> ReplayResult:
    """Draw tokens of a text again, from rows that the target has by itself."""
    warp, same, identical, largest, count = warped(sampling), 0, 0, 0.0, 0
    for place, row in rows:
        drawn = rule.draw(warp(row, text.tokens[:place]), place)
        same += drawn == text.tokens[place]
        identical += np.array_equal(row, text.rows[place])
        largest = max(largest, gap(row, text.rows[place]))
        count += 1
    return ReplayResult(same, identical, largest, count)


def same_text(
    layer: Layer,
    name: str,
    alone: DecodedText,
    batched: DecodedText,
    replay: ReplayResult,
    noise: float,
) -> Check:
    """Say whether two texts are the same, or where they part and whether that is explained."""
    length = min(alone.end, batched.end) - alone.begin
    figures: dict[str, float] = {
        "tokens": length,
        "proposed": batched.proposed,
        "accepted": batched.accepted,
        "replayed": replay.same,
        "rows": replay.rows,
    }
    by_itself = replay.same == replay.rows
    if not by_itself:
        return Check(layer, name, False, figures, note=STRAYS)
    if (place := _parting(alone, batched, length)) is None:
        return Check(layer, name, True, figures)
    ours, theirs = alone.tokens[place], batched.tokens[place]
    row, other = alone.rows[place], batched.rows[place]
    figures |= {
        "place": place - alone.begin + 1,
        "apart": float(abs(row[ours] - row[theirs])),
        "off": gap(row, other),
        "noise": noise,
    }
    explained = figures["off"] <= APART * noise
    return Check(layer, name, explained, figures, note="" if explained else TOO_FAR)


def untouched(
    layer: Layer,
    name: str,
    alone: DecodedText,
    batched: DecodedText,
    replay: ReplayResult,
    noise: float,
) -> Check:
    """Say whether two texts are the same, and the rows of the second the target's own."""
    check = same_text(layer, name, alone, batched, replay, noise)
    figures = {**check.figures, "identical": replay.identical, "largest": replay.largest}
    if check.holds and replay.largest > noise:
        return Check(layer, name, False, figures | {"noise": noise}, note=TRACE)
    return replace(check, figures=figures)


def _parting(alone: DecodedText, batched: DecodedText, length: int) -> int | None:
    """Return where two texts part."""
    places = range(alone.begin, alone.begin + length)
    return next((i for i in places if alone.tokens[i] != batched.tokens[i]), None)


def rolled_back(name: str, text: DecodedText, replay: ReplayResult, noise: float) -> Check:
    """Say whether rejected proposals have left a trace in the rows."""
    figures = {
        "rows": replay.rows,
        "identical": replay.identical,
        "largest": replay.largest,
        "rejected": text.proposed - text.accepted,
        "noise": noise,
    }
    what = f"{name}, after {text.proposed - text.accepted} rejections"
    return Check("rollback", what, replay.largest <= noise, figures)
