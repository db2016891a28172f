"""The residual: the target's probability in excess of the draft's."""

from assistant.decoding.row import Row


def excess(target: Row, draft: Row) -> Row:
    """Return (target - draft)+, not normalised: empty if the draft has as much of everything."""
    if not len(draft.ids):
        return target
    difference = target.probs - draft.probs_of(target.ids)
    left = difference > 0
    return Row(target.ids[left], difference[left])


def residual(target: Row, draft: Row) -> Row:
    """Return the excess, from which the replacement of a rejected token is drawn.

    Equal rows leave nothing, and then nothing can have been rejected but by rounding: the answer is
    the target's row.
    """
    left = excess(target, draft)
    return left if len(left.ids) else target
