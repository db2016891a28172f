"""Bytes and seconds as people say them."""


def size(count: float) -> str:
    """Return a number of bytes in decimal units, as shops and disks count them."""
    if count >= 1e9:
        return f"{count / 1e9:.2f} GB"
    if count >= 1e6:
        return f"{count / 1e6:.0f} MB"
    return f"{count / 1e3:.0f} kB"


def duration(seconds: float) -> str:
    """Return a length of time, rounded to what one can plan with."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def left(seconds: float | None) -> str:
    """Return how much time is left, to be put behind something; nothing while nobody knows."""
    return "" if seconds is None else f", about {duration(seconds)} left"
