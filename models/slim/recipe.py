"""What is done to a model file to make a faster draft of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """Steps, each of which may be left out."""

    kind: str | None = None  # the type that all matrices are requantised to
    tokens: int | None = None  # how many of the vocabulary are kept
    dropped: tuple[int, ...] = ()  # layers that are left out

    def __str__(self) -> str:
        steps = [self.kind] if self.kind else []
        steps += [f"{self.tokens:,} tokens"] if self.tokens else []
        if self.dropped:
            which = ", ".join(map(str, self.dropped))
            steps.append(f"without layer{'s' if len(self.dropped) > 1 else ''} {which}")
        return ", ".join(steps) or "as it is"

    @property
    def label(self) -> str:
        """What tells the file from others, as a part of its name."""
        steps = [self.kind.lower()] if self.kind else []
        steps += [str(self.tokens)] if self.tokens else []
        steps += ["less-" + "-".join(map(str, self.dropped))] if self.dropped else []
        return "-".join(steps)


def spaced(layers: int, count: int) -> tuple[int, ...]:
    """Return `count` layers to drop, evenly spaced: neither the first quarter nor the last.

    The first layers are indispensable, and the last ones shape the output.
    """
    first, last = layers // 4, layers - layers // 4
    return tuple(first + (2 * i + 1) * (last - first) // (2 * count) for i in range(count))
