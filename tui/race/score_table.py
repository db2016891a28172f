"""The figures of a race in columns, for the screen and for standard output alike."""

from collections.abc import Sequence

from tui.race.track import LaneStanding

HEADERS = ("lane", "tokens", "tokens/s", "ratio", "tokens/eval", "accepted", "first token", "time")
NOTHING = "–"


def cells(standing: LaneStanding, first: LaneStanding) -> tuple[str, ...]:
    """Return the figures of a lane, its speed also as a multiple of the first lane's."""
    stats, name = standing.stats, standing.lane.name
    if stats is None or not stats.generated_tokens:
        return (name, *[NOTHING] * (len(HEADERS) - 2), f"{standing.clock:.1f} s")
    ratio, rate = first.tokens_per_s, stats.acceptance_rate
    return (
        name,
        f"{stats.generated_tokens:,}",
        f"{stats.tokens_per_s:.1f}",
        f"{stats.tokens_per_s / ratio:.2f}×" if ratio else NOTHING,
        f"{stats.tokens_per_eval:.2f}",
        NOTHING if rate is None else f"{rate:.0%}",
        f"{stats.first_token_s:.2f} s",
        f"{standing.clock:.1f} s",
    )


def table(standings: Sequence[LaneStanding], columns: int = len(HEADERS)) -> list[list[str]]:
    """Return the header and a row for each lane, padded to columns: names left, figures right."""
    rows = [HEADERS, *(cells(each, standings[0]) for each in standings)]
    widths = [max(len(row[i]) for row in rows) for i in range(columns)]
    return [
        [
            text.rjust(width) if i else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=False))
        ]
        for row in rows
    ]
