"""Files that were sound until chance got at them: pieces and chance in, a file out."""

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tests import tiny
from tests.hostile_gguf.parts import (
    ARRAY,
    BOOL,
    F32,
    I32,
    SIZES,
    STRING,
    U32,
    Parts,
    numbers,
    taken_apart,
    text,
    texts,
)

EDGES = (0, 1, 2, 3, 7, 33, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
LONG_EDGES = (*EDGES, 1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def with_sentencepiece(parts: Parts) -> Parts:
    """Give a file the other kind of vocabulary that is common: pieces with scores."""
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    for key, kind, value in (
        ("tokenizer.ggml.model", STRING, text("llama")),
        ("tokenizer.ggml.tokens", ARRAY, texts(*names)),
        ("tokenizer.ggml.scores", ARRAY, numbers(F32, "f", *[0.0] * 259)),
        ("tokenizer.ggml.token_type", ARRAY, numbers(I32, "i", 2, 3, 3, *[6] * 256)),
        ("tokenizer.ggml.bos_token_id", U32, struct.pack("<I", 1)),
        ("tokenizer.ggml.eos_token_id", U32, struct.pack("<I", 2)),
    ):
        parts = parts.changed(key, kind, value)
    return parts


def bases(folder: Path) -> list[Parts]:
    """Return sound files of every kind that specchat runs, in pieces."""
    files = [tiny.write(folder / f"{kind}.gguf", kind) for kind in tiny.KINDS]
    whole = [taken_apart(path.read_bytes()) for path in files]
    return [*whole, whole[0], with_sentencepiece(whole[0])]  # llama's three times of six


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


def retyped(parts: Parts, rng: random.Random) -> bytes:
    """Give a value another type, with or without the bytes that belong to it."""
    key, _, value = rng.choice(parts.values)
    kind = rng.choice((*range(14), 255))
    if rng.random() < 0.7:
        of_kind = {STRING: text("x"), ARRAY: rng.choice((texts("x"), numbers(F32, "f", 1.0)))}
        value = of_kind.get(kind, rng.randbytes(SIZES.get(kind, 4)))
    return parts.changed(str(key), kind, value).packed()


def robbed(parts: Parts, rng: random.Random) -> bytes:
    """Leave out values or tensors."""
    if rng.random() < 0.6:
        gone = rng.sample(range(len(parts.values)), rng.choice((1, 1, 2, 5)))
        kept = [value for i, value in enumerate(parts.values) if i not in gone]
        return replace(parts, values=tuple(kept)).packed()
    gone = rng.sample(range(len(parts.tensors)), rng.choice((1, 1, 3)))
    return replace(
        parts, tensors=tuple(entry for i, entry in enumerate(parts.tensors) if i not in gone)
    ).packed()


def doubled(parts: Parts, rng: random.Random) -> bytes:
    """Have a token, a key or a tensor twice."""
    what = rng.choice(("token", "key", "tensor"))
    if what == "token":
        value = parts.value("tokenizer.ggml.tokens")
        names = list(_strings(value))
        names[rng.randrange(len(names))] = rng.choice((rng.choice(names), b"", b"\xff\xfe"))
        return parts.changed("tokenizer.ggml.tokens", ARRAY, texts(*names)).packed()
    if what == "key":
        return replace(parts, values=(*parts.values, rng.choice(parts.values))).packed()
    return replace(parts, tensors=(*parts.tensors, rng.choice(parts.tensors))).packed()


def displaced(parts: Parts, rng: random.Random) -> bytes:
    """Give a tensor another place, shape, type or name."""
    tensors = list(parts.tensors)
    at = rng.randrange(len(tensors))
    old = tensors[at]
    axis = rng.randrange(len(old.shape))
    edge = rng.choice((0, 1, old.shape[axis] + 1, old.shape[axis] * 2, *LONG_EDGES))
    shape = (*old.shape[:axis], edge, *old.shape[axis + 1 :])
    tensors[at] = rng.choice(
        (
            replace(old, offset=rng.choice((old.offset + 1, old.offset + 32, *LONG_EDGES))),
            replace(old, shape=shape),
            replace(old, shape=old.shape[::-1]),
            replace(old, kind=rng.choice((*range(45), 1 << 31))),
            replace(old, dimensions=rng.choice((0, 5, 1 << 31))),
            replace(old, name=rng.choice(("", "x" * 65, rng.choice(tensors).name))),
        )
    )
    return replace(parts, tensors=tuple(tensors)).packed()


def resized(parts: Parts, rng: random.Random) -> bytes:
    """Make an array of the metadata longer, shorter or of other numbers."""
    arrays = [value for value in parts.values if value[1] == ARRAY]
    key, kind, value = rng.choice(arrays)
    inner, count = struct.unpack_from("<IQ", value)
    if inner == STRING:
        names = list(_strings(value))
        new = texts(*rng.choice((names[:-1], names[:1], [], [*names, b"one more"], names[::-1])))
    else:
        length = rng.choice((0, 1, count - 1, count + 1, 2 * count))
        edges = (*EDGES[:6], rng.choice(EDGES))
        items = [rng.choice(edges) for _ in range(length)]
        new = struct.pack(f"<IQ{length}I", inner, length, *items) if SIZES[inner] == 4 else value
    return parts.changed(str(key), kind, new).packed()


def _strings(value: bytes) -> Iterator[bytes]:
    at = 12
    while at < len(value):
        (length,) = struct.unpack_from("<Q", value, at)
        yield value[at + 8 : at + 8 + length]
        at += 8 + length


MUTATORS: tuple[Callable[[Parts, random.Random], bytes], ...] = (
    flipped,
    scribbled,
    miscounted,
    cut,
    renumbered,
    retyped,
    robbed,
    doubled,
    displaced,
    resized,
)


def mutants(sound: Sequence[Parts], count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield the names and bytes of mutated files, the same ones for the same seed."""
    rng = random.Random(seed)
    for i in range(count):
        mutator = MUTATORS[i % len(MUTATORS)]
        yield f"{mutator.__name__}-{i}", mutator(rng.choice(sound), rng)
