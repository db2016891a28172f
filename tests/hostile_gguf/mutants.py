"""Files that were sound until chance got at them: pieces and chance in, a file out."""

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests import tiny
from tests.hostile_gguf.parts import (
    BOOL,
    F32,
    I32,
    U32,
    Parts,
    taken_apart,
)

EDGES = (0, 1, 2, 3, 7, 33, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
LONG_EDGES = (*EDGES, 1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def bases(folder: Path) -> list[Parts]:
    """Return sound files of every kind that specchat runs, in pieces."""
    files = [tiny.write(folder / f"{kind}.gguf", kind) for kind in tiny.KINDS]
    whole = [taken_apart(path.read_bytes()) for path in files]
    return [*whole, whole[0]]  # llama's twice


def flipped(parts: Parts, rng: random.Random) -> bytes:
    """Flip bits of the header."""
    data, size = bytearray(parts.packed()), parts.header_size()
    for _ in range(rng.choice((1, 2, 4, 8))):
        data[rng.randrange(size)] ^= 1 << rng.randrange(8)
    return bytes(data)


def scribbled(parts: Parts, rng: random.Random) -> bytes:
    """Overwrite a stretch of the header, maybe by more or fewer bytes than it had."""
    data, at = bytearray(parts.packed()), rng.randrange(parts.header_size())
    length = rng.randint(1, 63)
    data[at : at + length] = rng.randbytes(rng.choice((length, length, rng.randint(0, 64))))
    return bytes(data)


def miscounted(parts: Parts, rng: random.Random) -> bytes:
    """Overwrite a length, a count or any other number of the header."""
    data, layout = bytearray(parts.packed()), rng.choice("IQ")
    at = rng.choice((8, 16, rng.randrange(24, parts.header_size() - 8)))
    edge = rng.choice(EDGES if layout == "I" else LONG_EDGES)
    struct.pack_into("<" + layout, data, at, edge)
    return bytes(data)


def cut(parts: Parts, rng: random.Random) -> bytes:
    """Cut the file, in the header or after it."""
    data = parts.packed()
    return data[: rng.randrange(rng.choice((parts.header_size(), len(data))))]


def renumbered(parts: Parts, rng: random.Random) -> bytes:
    """Give a number of the metadata another value: no layers, too many heads, no such token."""
    scalars = [value for value in parts.values if value[1] in (U32, I32, F32, BOOL)]
    for key, kind, value in rng.sample(scalars, rng.choice((1, 1, 2))):
        if kind == F32:
            edge = struct.pack("<f", rng.choice((0.0, -1.0, 1e38, float("nan"), float("inf"))))
        elif kind == BOOL:
            edge = bytes([rng.choice((0, 1, 2, 255))])
        else:
            edge = struct.pack("<I", rng.choice(EDGES))
        parts = parts.changed(str(key), kind, edge[: len(value)])
    return parts.packed()


MUTATORS: tuple[Callable[[Parts, random.Random], bytes], ...] = (
    flipped,
    scribbled,
    miscounted,
    cut,
    renumbered,
)


def mutants(sound: Sequence[Parts], count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield the names and bytes of mutated files, the same ones for the same seed."""
    rng = random.Random(seed)
    for i in range(count):
        mutator = MUTATORS[i % len(MUTATORS)]
        yield f"{mutator.__name__}-{i}", mutator(rng.choice(sound), rng)
