"""What a proof found, as lines of text and as plain values."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from textwrap import wrap
from typing import Any

from assistant.lab.prove.events import FALSE_ALARM, Check, Layer, Proved
from assistant.request import Sampling
from models.errors import SpecchatError
from tui.lab.prove_layers import LAYERS
from tui.widgets.text_figures import duration

PROMISE = (
    "SpS samples from the same distribution the target computes in its verify batch. It is exact "
    "up to floating-point differences between batch sizes; at temperature 0 the wording can differ "
    "from one-token decoding where the two best tokens are nearly tied."
)
"""Word for word, wherever it is given."""
TITLES: Mapping[Layer, str] = {
    "enumeration": "The shipped rules, enumerated: every outcome and its exact probability",
    "mistakes": "Mistakes made on purpose, which have to be found",
    "noise": "The noise of batches: this target's logits beside those of single tokens",
    "rollback": "Taking back: rows after a rollback beside those of a cache that never held more",
    "greedy": "At temperature 0: SpS beside ArS",
    "seed": "With a seed: SpS beside ArS at the temperature asked for",
    "turn": "An answer as it is shipped, with a seed: every source, the controller decides",
    "several": "Several answers at once, with seeds: each beside its own ArS",
    "restored": "A snapshot on disk, forgotten and restored: the answer goes on beside ArS",
    "sampling": "By samples: SpS beside ArS, and acceptance beside its closed form",
}
ORDER: tuple[Layer, ...] = tuple(TITLES)
WIDTH = 79
BROKEN, INTERRUPTED = 1, 130
"""Exit codes."""


@dataclass(slots=True)
class ProofOutcome:
    """What came of it, as far as it came."""

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
    for layer in ORDER:
        if checks := by_layer[layer]:
            yield TITLES[layer]
            yield from (f"  {line}" for line in LAYERS[layer](checks))
            yield ""
    if outcome.proved is not None:
        times = (f"{what} {seconds:.1f} s" for what, seconds in outcome.proved.times.items())
        yield from wrap(f"Time: {', '.join(times)}", WIDTH)
        yield ""
    yield from wrap(verdict(outcome), WIDTH)
    if noise := by_layer["noise"]:
        yield ""
        yield from wrap(f"What is promised: {PROMISE} {_measured(noise)}", WIDTH)


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
        "layers": {layer: [_plain(check) for check in by_layer[layer]] for layer in ORDER},
    }


def verdict(outcome: ProofOutcome) -> str:
    """Return in a sentence or two what it comes to."""
    if broken := outcome.broken:
        named = "; ".join(f"{each.layer}: {each.what}" for each in broken)
        return f"Broken: {named}. Please report it, with the output of --json."
    if (proved := outcome.proved) is None:
        stopped = "failed" if outcome.error else "was stopped"
        return f"Nothing is broken as far as it came: it {stopped} before its end."
    if not proved.speculates:
        return (
            "The rules hold. This target is a recurrent model, which cannot take tokens back: it "
            "never speculates, so there was nothing else to compare."
        )
    took = f"It took {duration(proved.seconds)}; seed {proved.seed}."
    if len(proved.paths) > 1:
        return f"All holds: with this pair, speculation changes nothing but the speed. {took}"
    return (
        f"All holds. {proved.no_draft or 'There is no draft.'} So the target itself proposed "
        f"what it likes best: a draft's rows and vocabulary were not tested. {took}"
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
