"""In which order answers are measured."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
System = TypeVar("System")


def interleaved(
    items: Sequence[Item], systems: Sequence[System], repeats: int = 1
) -> Iterator[tuple[int, Item, list[System]]]:
    """Yield every item `repeats` times, as repeat, item, and the systems that answer it in order.

    The next item has the opposite order, so that it is nobody's advantage to come first.
    """
    order = list(systems)
    for repeat in range(repeats):
        for item in items:
            yield repeat, item, order
            order = order[::-1]
