"""Machines to replay answers on: what evaluations cost, and nothing else."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assistant.decoding.lookahead.costs import is_curve
from models.errors import UsageError


@dataclass(frozen=True, slots=True)
class Machine:
    """What evaluations of a pair cost."""

    name: str
    verify: Mapping[int, float]  # seconds of the target by width
    draft: Mapping[int, float]  # seconds of the draft by tokens read; empty: there is none
    host_s: float = 0.0  # seconds of everything else, each round

    def scaled(self, factor: float) -> "Machine":
        """Return a machine on which everything takes `factor` times as long."""

        def longer(times: Mapping[int, float]) -> dict[int, float]:
            return {n: factor * seconds for n, seconds in times.items()}

        return replace(
            self,
            verify=longer(self.verify),
            draft=longer(self.draft),
            host_s=factor * self.host_s,
        )


_DRAFT = {1: 0.0225, 2: 0.041, 3: 0.062, 4: 0.061, 8: 0.111}  # 0.5B Q4_K_M
PRESETS = {
    each.name: each
    for each in (
        Machine(  # two Xeon cores, a target of 1.5B: every place in the batch costs
            "2-core-q4",
            {1: 0.044, 2: 0.075, 3: 0.107, 4: 0.118, 5: 0.152, 8: 0.292, 16: 0.383, 32: 0.699},
            _DRAFT,
        ),
        Machine(  # the same with 16-bit weights: reading them takes most of the time
            "2-core-f16",
            {1: 0.097, 2: 0.107, 3: 0.119, 4: 0.149, 5: 0.161, 8: 0.215, 16: 0.372, 32: 0.685},
            _DRAFT,
        ),
        Machine(  # no real card: t(n) hardly grows, a draft step is a tenth, the host a millisecond
            "flat-gpu",
            {1: 0.020, 4: 0.0205, 8: 0.021, 16: 0.022, 32: 0.025},
            {1: 0.002, 8: 0.002, 64: 0.003, 512: 0.010},
            0.001,
        ),
    )
}


def machine(name: str) -> Machine:
    """Return a preset, or the machine in a JSON file with `verify`, `draft` and `host_s`.

    Raises:
        UsageError: it is neither.
    """
    if name in PRESETS:
        return PRESETS[name]
    try:
        fields = json.loads(Path(name).read_text())
        verify, draft = (_curve(fields.get(part) or {}) for part in ("verify", "draft"))
        host_s = float(fields.get("host_s", 0.0))
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise UsageError(
            f"{name} is neither one of {', '.join(PRESETS)} nor a JSON file like "
            f'{{"verify": {{"1": 0.044, "4": 0.118}}, "draft": {{"1": 0.02}}}}: {error}.'
        ) from error
    if not is_curve(verify) or 1 not in verify or (draft and not is_curve(draft)) or host_s < 0:
        raise UsageError(f"{name}: verify needs seconds by width, 1 among them, and so does draft.")
    return Machine(Path(name).stem, verify, draft, host_s)


def _curve(times: Mapping[str, float]) -> dict[int, float]:
    return {int(n): float(seconds) for n, seconds in times.items()}
