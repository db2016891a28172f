"""Which lookahead is in force: what the person chose, or else what pays."""

from assistant.control import Control
from assistant.lookahead.adaptive import AdaptiveLookahead
from assistant.lookahead.choice import Choice
from assistant.request import Request

FIXED_LOOKAHEAD = 3  # where nothing may be measured: verify width 4
TYPICAL_ANSWER = 200  # tokens
SHORT = 64  # tokens that the draft reads in no time worth weighing


def lookahead(
    request: Request,
    control: Control,
    adaptive: AdaptiveLookahead | None,
    unread: int,
    prefill_s_per_token: float,
) -> Choice:
    """Return how many tokens to propose in the next round.

    `unread` is how many tokens the draft has to read before it can propose any, and
    `prefill_s_per_token` an upper estimate of the time that each of them takes it.
    """
    if control.mode == "ars":
        return Choice(0, "ArS proposes nothing")
    if control.lookahead is not None:
        return Choice(control.lookahead, "you chose it")
    # A choice that depends on clocks would make a seeded answer depend on them.
    if adaptive is None or request.seed is not None:
        if control.mode == "sps":
            return Choice(FIXED_LOOKAHEAD, "fixed, as no clock may have a say")
        return Choice(0, "with a seed, auto lets no clock decide")
    if control.mode == "sps":
        return adaptive.choose(at_least=1)
    if unread > SHORT and not adaptive.pays(unread * prefill_s_per_token, TYPICAL_ANSWER):
        return Choice(0, f"the draft would have {unread:,} tokens to read first")
    return adaptive.choose()
