"""What an answer is: code, lists or prose, told from its lines alone."""

import re
from typing import Literal

Kind = Literal["code", "mixed", "list", "prose"]
KINDS: dict[Kind, str] = {
    "code": "at least half of the lines stand between fences (```)",
    "mixed": "some lines do",
    "list": "at least half of the lines are items or rows of a table",
    "prose": "anything else",
}
"""The kinds, and when an answer is one, tried in this order; empty lines do not count."""

_FENCE = re.compile(r" {0,3}(```|~~~)")
_ITEM = re.compile(r"\s*([-*+•|]|\d+[.)])\s*\S")


def kind_of(text: str) -> Kind:
    """Return what an answer is."""
    lines = fenced = items = 0
    inside = False
    for line in text.splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif line.strip():
            lines += 1
            fenced += inside
            items += not inside and _ITEM.match(line) is not None
    if fenced:
        return "code" if 2 * fenced >= lines else "mixed"
    return "list" if items and 2 * items >= lines else "prose"
