"""In which order answers are measured."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
System = TypeVar("System")


def interleaved(
    items: Sequence[Item], systems: Sequence[System], repeats: int = 1
) -> Iterator[tuple[int, Item, System]]:
    """Yield every item with every system, `repeats` times, as repeat, item, system.

    The systems answer one item after the other, and the next item in the opposite order: what
    makes the machine steadily slower, or faster, makes it so for all alike.
    """
    turn = 0
    for repeat in range(repeats):
        for item in items:
            order = systems if turn % 2 == 0 else [*reversed(systems)]
            turn += 1
            yield from ((repeat, item, system) for system in order)
