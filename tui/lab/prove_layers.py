"""What each layer of a proof found, as lines of text."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from assistant.lab.prove.events import FALSE_ALARM, Check, Layer

Lines = Callable[[Sequence[Check]], Iterator[str]]


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
            f"  the target by itself, at the same widths: {figures['replayed']:.0f} of "
            f"{figures['rows']:.0f} tokens the same"
        )


def _shipped(proved: str, checks: Sequence[Check]) -> Iterator[str]:
    """Yield what became of each text, and what that proves."""
    tested = [check for check in checks if check.holds is not None]
    yield from _texts(tested)
    for check in checks:
        if check.holds is None:
            yield f"{check.what}: not tested, as {check.note}"
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
    yield f"A pair that is right is accused in {FALSE_ALARM * 10_000:.0f} of 10,000 runs."


def _failing(*checks: Check) -> str:
    return "BROKEN " if any(check.holds is False for check in checks) else ""


LAYERS: Mapping[Layer, Lines] = {
    "enumeration": _enumeration,
    "mistakes": _mistakes,
    "noise": _noise,
    "rollback": _rollback,
    "greedy": _texts,
    "seed": _texts,
    "turn": partial(_shipped, "The shipped turn says what ArS says, whatever proposes and when."),
    "several": partial(_shipped, "Each of several answers is what its seed says alone."),
    "restored": partial(_shipped, "What comes back from disk is what had been read."),
    "sampling": _sampling,
}
"""What says it, by layer."""
