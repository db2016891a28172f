"""Which passage the words of a token stand in that was copied from the prompt."""

from collections.abc import Sequence

from assistant.events import Ghost, Origin
from assistant.request import COPYING
from assistant.store.values import Attachment
from tui.chat.inspector.token_facts import InspectedToken
from tui.safe import one_line

LENGTHS = (64, 32, 16)
"""Characters up to a token that are looked for; fewer stand in too many places."""


def stands(entries: Sequence[InspectedToken], at: int, passages: Sequence[Attachment]) -> str:
    """Say where the words up to a right guess stand, if it may be a copy from a passage."""
    item = entries[at].item
    if isinstance(item, Ghost) or item.origin is not Origin.DRAFT or item.source not in COPYING:
        return ""
    kept = (each.item.text for each in entries[: at + 1] if not isinstance(each.item, Ghost))
    text = "".join(kept)
    for length in LENGTHS:
        found = [each for each in passages if len(text) >= length and text[-length:] in each.text]
        if found:
            return f"These words stand in {' and '.join(one_line(each.title) for each in found)}."
    return ""
