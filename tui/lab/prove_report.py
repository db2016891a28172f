"""What a proof found, as lines of text and as plain values."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from textwrap import wrap
from typing import Any

from assistant.lab.protocol import FALSE_ALARM, Check, Layer, Proved
from assistant.request import Sampling
from models.errors import SpecchatError
from tui.widgets.text_figures import duration

PROMISE = (
    "SpS samples from the same distribution the target computes in its verify batch. It is exact "
    "up to floating-point differences between batch sizes; at temperature 0 the wording can differ "
    "from one-token decoding where the two best tokens are nearly tied."
)
"""Word for word, wherever it is given."""
WIDTH = 79
BROKEN, INTERRUPTED = 1, 130
"""Exit codes."""


@dataclass(slots=True)
class ProofOutcome:
    """The outcome, as far as the proof got."""

    sampling: Sampling
    thorough: bool
    checks: list[Check] = field(default_factory=list)
    proved: Proved | None = None  # None: it was stopped, or failed
    interrupted: bool = False
    error: SpecchatError | None = None

    @property
    def broken(self) -> list[Check]:
        """What does not hold."""
        return [check for check in self.checks if check.holds is False]

    @property
    def exit_code(self) -> int:
        """What the command's end says."""
        return BROKEN if self.broken else INTERRUPTED if self.interrupted else 0


def lines(outcome: ProofOutcome) -> Iterator[str]:
    """Yield what was compared, layer by layer, and the verdict."""
    by_layer = _by_layer(outcome.checks)
    for layer, (title, told) in LAYERS.items():
        if checks := by_layer[layer]:
            yield title
            yield from (f"  {line}" for line in told(checks))
            yield ""
    if outcome.proved is not None:
        times = (f"{what} {seconds:.1f} s" for what, seconds in outcome.proved.times.items())
        yield from wrap(f"Time: {', '.join(times)}", WIDTH)
        yield ""
    yield from wrap(verdict(outcome), WIDTH)
    if noise := by_layer["noise"]:
        yield ""
        yield from wrap(f"The promise: {PROMISE} {_measured(noise)}", WIDTH)


def report(outcome: ProofOutcome) -> dict[str, Any]:
    """Return everything, as plain values."""
    proved = outcome.proved
    by_layer = _by_layer(outcome.checks)
    return {
        "verdict": verdict(outcome),
        "holds": not outcome.broken,
        "complete": proved is not None,
        "error": str(outcome.error) if outcome.error else None,
        "promise": PROMISE,
        "false_alarm": FALSE_ALARM,
        "thorough": outcome.thorough,
        "target": str(proved.paths[0]) if proved else None,
        "draft": str(proved.paths[1]) if proved and len(proved.paths) > 1 else None,
        "no_draft": proved.no_draft if proved else None,
        "sampling": asdict(outcome.sampling),
        "seed": proved.seed if proved else None,
        "seconds": proved.seconds if proved else None,
        "times": dict(proved.times) if proved else {},
        "layers": {layer: [_plain(check) for check in by_layer[layer]] for layer in LAYERS},
    }


def verdict(outcome: ProofOutcome) -> str:
    """Return the verdict in a sentence or two."""
    if broken := outcome.broken:
        named = "; ".join(f"{each.layer}: {each.what}" for each in broken)
        return f"Failed: {named}. Please report it, with the output of --json."
    if (proved := outcome.proved) is None:
        stopped = "failed" if outcome.error else "was stopped"
        return f"No fault was found, but the check {stopped} before its end."
    if not proved.speculates:
        return (
            "The rules hold. This target is a recurrent model, which cannot roll back tokens: it "
            "never speculates, so there was nothing else to compare."
        )
    took = f"It took {duration(proved.seconds)}; seed {proved.seed}."
    if len(proved.paths) > 1:
        return f"All checks pass: with this pair, speculation changes nothing but the speed. {took}"
    return (
        f"All checks pass. {proved.no_draft or 'There is no draft.'} So the target itself proposed "
        f"its likeliest tokens: a draft's rows and vocabulary were not tested. {took}"
    )


def _by_layer(checks: Sequence[Check]) -> Mapping[Layer, list[Check]]:
    found: defaultdict[Layer, list[Check]] = defaultdict(list)
    for check in checks:
        found[check.layer].append(check)
    return found


def _plain(check: Check) -> dict[str, Any]:
    return {name: value for name, value in asdict(check).items() if name != "layer"}


def _measured(noise: Sequence[Check]) -> str:
    largest = max(check.figures["largest"] for check in noise)
    if not largest:
        return "Here batches make no difference at all: logits are the same to the last bit."
    worst = max(check.figures["variation"] for check in noise)
    return (
        f"Measured here: a batch moves a logit by {largest:.3g} at most, and the distribution by "
        f"{worst:.2g} (total variation, on average)."
    )


def _enumeration(checks: Sequence[Check]) -> Iterator[str]:
    for check in checks:
        outcomes = f"{check.figures['outcomes']:.0f} outcomes"
        variation = check.figures["variation"]
        off = f"{variation:.4f}" if variation else "0, exactly"
        yield f"{_failing(check)}{check.what:<26}{outcomes:>12}: total variation {off}"
    yield "from the target's law: texts of a toy model, by the shipped loop and draft"


def _mistakes(checks: Sequence[Check]) -> Iterator[str]:
    for check in checks:
        if "power" in check.figures:
            power = check.figures["power"]
            found = f"samples find it with probability {power:.3g}"
            yield f"{check.what}:"
            yield f"  {found if power < 1 else 'samples find it for sure'}"
        else:
            seen = "found" if check.holds else "NOT FOUND"
            yield f"{check.what:<62}{check.figures['variation']:.4f}  {seen}"


def _noise(checks: Sequence[Check]) -> Iterator[str]:
    yield f"{'tokens at once':<16}{'logits off by':>14}{'variation':>12}{'another best token':>22}"
    for check in checks:
        figures = check.figures
        flips = f"{figures['flips']:.0f} of {figures['rows']:.0f}"
        off, variation = f"{figures['largest']:.3g}", f"{figures['variation']:.2g}"
        yield f"{figures['width']:>8.0f}{'':<8}{off:>14}{variation:>12}{flips:>22}"


def _rollback(checks: Sequence[Check]) -> Iterator[str]:
    for check in checks:
        figures = check.figures
        same = f"{figures['identical']:.0f} of {figures['rows']:.0f} identical to the last bit"
        off = "" if not figures["largest"] else f", at most {figures['largest']:.3g} off"
        yield f"{_failing(check)}{check.what}:"
        yield f"  {same}{off}"


def _texts(checks: Sequence[Check]) -> Iterator[str]:
    for check in checks:
        figures = check.figures
        yield f"{_failing(check)}{check.what}"
        accepted = f"{figures['accepted']:.0f} of {figures['proposed']:.0f} proposals accepted"
        if check.note:
            yield f"  {check.note}"
        if "place" not in figures:
            yield f"  the same {figures['tokens']:.0f} tokens; {accepted}"
            continue
        yield (
            f"  the same up to token {figures['place']:.0f} of {figures['tokens']:.0f}, where "
            f"two tokens are {figures['apart']:.3g} apart"
        )
        yield (
            f"  and the batch moved logits by {figures['off']:.3g} (noise {figures['noise']:.3g}); "
            f"{accepted}"
        )
        yield (
            f"  the target alone, at the same widths: {figures['replayed']:.0f} of "
            f"{figures['rows']:.0f} tokens the same"
        )


def _shipped(proved: str, checks: Sequence[Check]) -> Iterator[str]:
    """Yield the outcome for each text, and what that proves."""
    tested = [check for check in checks if check.holds is not None]
    yield from _texts(tested)
    for check in checks:
        if check.holds is None:
            yield f"{check.what}: not tested, because {check.note}"
    if tested and all(check.holds for check in tested):
        yield proved


def _sampling(checks: Sequence[Check]) -> Iterator[str]:
    """Yield a line for each prompt and rule, and what the p-values mean."""
    groups: defaultdict[str, list[Check]] = defaultdict(list)
    for check in checks:
        groups[check.what.rsplit(": ", 1)[0]].append(check)
    for name, its in groups.items():
        least = min(check.p_value or 0.0 for check in its)
        rates = [
            f"{check.figures['measured']:.3f} for {check.figures['expected']:.3f} "
            f"(z {check.figures['z']:+.1f})"
            for check in its
            if "z" in check.figures
        ]
        yield f"{_failing(*its)}{name}: p = {least:.2g}"
        yield from (f"  accepted {rate}" for rate in rates)
    samples = sum(check.figures.get("samples", 0) for check in checks)
    yield f"{len(checks)} tests of {samples:,.0f} answers; p is the least of each rule's, by Holm."
    yield f"A correct pair fails in {FALSE_ALARM * 10_000:.0f} of 10,000 runs."


def _failing(*checks: Check) -> str:
    return "BROKEN " if any(check.holds is False for check in checks) else ""


LAYERS: Mapping[Layer, tuple[str, Callable[[Sequence[Check]], Iterator[str]]]] = {
    "enumeration": (
        "The shipped rules, enumerated: every outcome and its exact probability",
        _enumeration,
    ),
    "mistakes": ("Deliberate mistakes, which must be found", _mistakes),
    "noise": ("Batch noise: this target's logits compared with those of single tokens", _noise),
    "rollback": (
        "Rollback: rows after it compared with those of a cache that never held more",
        _rollback,
    ),
    "greedy": ("At temperature 0: SpS compared with ArS", _texts),
    "seed": ("With a seed: SpS compared with ArS at the requested temperature", _texts),
    "turn": (
        "An answer as it is shipped, with a seed: every source, the controller decides",
        partial(_shipped, "The shipped turn writes what ArS writes, whatever proposes and when."),
    ),
    "several": (
        "Several answers at once, with seeds: each compared with its own ArS",
        partial(_shipped, "Each of several answers is what its seed gives alone."),
    ),
    "restored": (
        "A snapshot, dropped and restored from disk: the rest of the answer compared with ArS",
        partial(_shipped, "What comes back from disk is what was read."),
    ),
    "sampling": (
        "By samples: SpS compared with ArS, and acceptance with its closed form",
        _sampling,
    ),
}
"""The title of each layer and its reporter, in order."""
