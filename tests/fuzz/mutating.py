"""Random mutations of inputs that were interesting before."""

import random
from collections.abc import Sequence

LONGEST = 1 << 16
NUMBERS = (b"\0", b"\1", b"\x7f", b"\x80", b"\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\xff" * 4)


def mutated(corpus: Sequence[bytes], words: Sequence[bytes], rng: random.Random) -> bytes:
    """Return a new input, made of one or two old ones."""
    data = bytearray(rng.choice(corpus))
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        _change(data, corpus, words, rng)
    return bytes(data[:LONGEST])


def _change(
    data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes], rng: random.Random
) -> None:
    at = rng.randint(0, len(data))
    end = min(len(data), at + rng.choice((0, 1, 2, 4, 8, 64)))
    match rng.randrange(7):
        case 0:
            data[at:end] = rng.randbytes(end - at)
        case 1:
            data[at:end] = b""
        case 2:
            data[at:at] = data[at:end] * rng.choice((1, 2, 50))
        case 3:
            data[at:end] = rng.choice(NUMBERS)
        case 4:
            data[at:at] = rng.choice(words)
        case 5:
            other = rng.choice(corpus)
            start = rng.randint(0, len(other))
            data[at:end] = other[start : start + rng.choice((4, 32, 500))]
        case _ if at < len(data):
            data[at] ^= 1 << rng.randrange(8)
