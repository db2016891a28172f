"""What a draft promises on this machine, from what evaluations were measured to cost."""

from dataclasses import dataclass
from pathlib import Path

from assistant.decoding.lookahead.breakeven import best_lookahead, break_even
from assistant.decoding.lookahead.cost_cache import recorded
from assistant.decoding.lookahead.theory import TYPICAL as TYPICAL


@dataclass(frozen=True, slots=True)
class Prediction:
    """What to expect of a pair at a typical acceptance rate."""

    lookahead: int  # the best; 0 when none pays
    speedup: float  # with it, over ArS
    pays_from: float | None  # the acceptance rate from which some lookahead pays; None: none does


def predict(target: Path, draft: Path, folder: Path) -> Prediction | None:
    """Return what a pair promises; None when one of the two was never measured here.

    `folder` is where measurements are kept.
    """
    verify, reading = recorded(target, "verify", folder), recorded(draft, "draft", folder)
    if verify is None or reading is None:
        return None
    step_s, token_s = reading.seconds.get(1), verify.seconds.get(1)
    if step_s is None or token_s is None:
        return None
    rates = [
        break_even(width - 1, seconds + (width - 1) * step_s, token_s)
        for width, seconds in verify.seconds.items()
        if width > 1
    ]
    pays_from = min((rate for rate in rates if rate is not None), default=None)
    return Prediction(*best_lookahead(TYPICAL, verify.seconds, step_s), pays_from)
