"""What samples say: the same law, the acceptance expected, and how surely they would have told."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from assistant.decoding.draw import Uniforms
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.rule import Rule
from assistant.decoding.rules.token import TokenRule
from assistant.lab.prove.events import FALSE_ALARM, Check
from assistant.lab.prove.exact_tests import alike, as_expected, holm, roughly_alike
from assistant.lab.prove.expected_acceptance import of_blocks, of_tokens, of_twins
from assistant.lab.prove.mistakes import AcceptsAll, ReplacesFromTheTarget
from assistant.lab.prove.samples import LENGTH, Counts, Sample, Sampler

MISTAKEN: dict[str, Callable[[Uniforms], Rule]] = {
    "every proposal is accepted": AcceptsAll,
    "a rejected one is replaced from the target's own row": ReplacesFromTheTarget,
}
"""Mistakes that are made on purpose, to see how surely samples would tell."""
SIMULATIONS = 400


@dataclass(slots=True)
class Comparison:
    """All samples of all prompts, and the tests of them."""

    checks: list[Check] = field(default_factory=list)
    controls: dict[str, list[tuple[Counts, Counts]]] = field(
        default_factory=lambda: {what: [] for what in MISTAKEN}
    )

    def add(self, name: str, sampler: Sampler) -> None:
        """Sample behind a prompt, and test what came."""
        ars = sampler.ars()
        for rule, rules, trials in (
            ("token", sampler.streams(TokenRule), of_tokens),
            ("block", sampler.streams(BlockRule), of_blocks),
            ("coupled", sampler.twins(), of_twins),
        ):
            sps = sampler.sps(rules, trials)
            for length in (1, LENGTH):
                self._compare(f"{name} {rule} rule", ars, sps, length, sampler.rng())
            self._expect(f"{name} {rule} rule", sps)
        for what, kind in MISTAKEN.items():
            mistaken = sampler.sps(sampler.streams(kind))
            self.controls[what].append((ars.firsts(1), mistaken.firsts(1)))

    def _compare(
        self, what: str, ars: Sample, sps: Sample, length: int, rng: np.random.Generator
    ) -> None:
        ours, theirs = ars.firsts(length), sps.firsts(length)
        p_value = alike(ours, theirs, rng)
        tokens = "the first token" if length == 1 else f"the first {length} tokens"
        figures = {
            "samples": ours.total() + theirs.total(),
            "outcomes": len(ours.keys() | theirs.keys()),
        }
        self.checks.append(Check("sampling", f"{what}: {tokens}", None, figures, p_value))

    def _expect(self, what: str, sample: Sample) -> None:
        for place, trials in sorted(sample.trials.items()):
            chances = [chance for chance, _ in trials]
            kept = sum(kept for _, kept in trials)
            z, p_value = as_expected(chances, kept)
            figures = {
                "z": z,
                "expected": sum(chances) / len(trials),
                "measured": kept / len(trials),
                "trials": len(trials),
            }
            name = f"{what}: acceptance of proposal {place + 1}"
            self.checks.append(Check("sampling", name, None, figures, p_value))

    def results(self) -> Iterator[Check]:
        """Yield the tests, corrected for being many, and what they would have found."""
        corrected = holm([check.p_value or 0.0 for check in self.checks])
        for check, p_value in zip(self.checks, corrected, strict=True):
            yield replace(check, holds=p_value > FALSE_ALARM, p_value=p_value)
        for what, pairs in self.controls.items():
            yield Check("mistakes", f"sampled: {what}", None, self._power(pairs))

    def _power(self, pairs: Sequence[tuple[Counts, Counts]]) -> dict[str, float]:
        """Return how surely a mistake would have been found, by the first tokens alone."""
        level = FALSE_ALARM / len(self.checks)
        rng, missed, least = np.random.default_rng(0), np.ones(SIMULATIONS), 1.0
        for ars, mistaken in pairs:
            cells = sorted(ars.keys() | mistaken.keys())
            laws = [np.array([law[cell] for cell in cells]) for law in (ars, mistaken)]
            drawn = [rng.multinomial(law.sum(), law / law.sum(), SIMULATIONS) for law in laws]
            missed *= roughly_alike(*drawn) > level
            least = min(least, float(roughly_alike(*(law[None] for law in laws))[0]))
        power = 1 - float(missed.mean())
        return {
            "power": power,
            "p_value": min(1.0, least * len(self.checks)),
            "prompts": len(pairs),
        }
