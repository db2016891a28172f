"""How sure a model is, at the price of two maxima."""

from bisect import bisect

from models.base import Logits

EDGES = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # of the classes, in units of the logits


def margin(logits: Logits) -> int:
    """Return the class of the gap between the two best logits: 0 is a tie, 9 is certain.

    Among cheap features it tells best whether a proposal will be accepted, and unlike a warped
    probability it does so at temperature 0 too.
    """
    best = int(logits.argmax())
    rest = [part.max() for part in (logits[:best], logits[best + 1 :]) if len(part)]
    return bisect(EDGES, float(logits[best] - max(rest, default=logits[best])))
