"""GGUF files made by hand, each with one thing in it that a reader must not fall for."""

import struct
from collections.abc import Iterator
from dataclasses import replace

from tests.hostile_gguf.parts import (
    ARRAY,
    F32,
    STRING,
    U32,
    U64,
    Entry,
    Parts,
    numbers,
    text,
    texts,
)

Case = tuple[str, Parts | bytes]
HUGE = (1 << 64) - 1
SOUND = Entry("t", (32,), 0, 0)
SOUND_DATA = bytes(128)


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def cases(sound: Parts) -> Iterator[tuple[str, bytes]]:
    """Yield names and files; those whose names begin with "fine" are sound."""
    for name, made in (*_heads(), *_values(), *_tensors(), *_models(sound)):
        yield name, made if isinstance(made, bytes) else made.packed()


def killers(sound: Parts) -> Iterator[tuple[str, bytes]]:
    """Yield files that are whole, and that llama.cpp ends its process over."""
    for key, value in (("block_count", 0), ("expert_count", 1)):
        yield key, sound.changed(f"llama.{key}", U32, u32(value)).packed()
    names = [f"t{i}" for i in range(259)]
    tokens = texts(*names[1:], "t1")
    yield "tokens-equal", sound.changed("tokenizer.ggml.tokens", ARRAY, tokens).packed()
    name = "blk.0.attn_k.weight"
    tensors = [replace(e, kind=26) if e.name == name else e for e in sound.tensors]
    yield "integers-for-weights", replace(sound, tensors=tuple(tensors)).packed()


def _heads() -> Iterator[Case]:
    yield "nothing", b""
    yield "magic-alone", b"GGUF"
    yield "magic-wrong", Parts(magic=b"FUGU")
    yield "magic-big-endian", Parts(magic=b"GGUF"[::-1])
    for version in (0, 1, 4, 0xFFFFFFFF, 3 << 24):
        yield f"version-{version}", Parts(version=version)
    for count in (1, 65_537, 1 << 31, 1 << 60, HUGE):
        yield f"tensors-{count}", Parts(n_tensors=count)
        yield f"values-{count}", Parts(n_values=count)
    yield "fine-empty", Parts()
    yield "fine-empty-version-2", Parts(version=2)


def _values() -> Iterator[Case]:
    def one(kind: int, value: bytes, key: str | bytes = "key") -> Parts:
        return Parts(((key, kind, value),))

    yield "fine-values", one(U32, u32(7))
    yield "key-long", Parts(n_values=1).packed() + struct.pack("<Q", HUGE) + bytes(64)
    yield "key-empty", one(U32, u32(7), "")
    yield "key-not-utf8", one(U32, u32(7), b"\xff\xfe")
    for kind in (13, 255, 1 << 31, 0xFFFFFFFF):
        yield f"type-{kind}", one(kind, u32(7))
    for length in (100, 1 << 32, 1 << 62, HUGE):
        yield f"string-of-{length}", one(STRING, struct.pack("<Q", length) + b"x")
        yield f"array-of-{length}", one(ARRAY, struct.pack("<IQ", U32, length) + b"x")
        yield f"strings-{length}", one(ARRAY, struct.pack("<IQ", STRING, length) + b"x")
    yield "array-of-arrays", one(ARRAY, struct.pack("<IQ", ARRAY, 1) + numbers(U32, "I", 1))
    yield "array-of-nothing-known", one(ARRAY, struct.pack("<IQ", 77, 1) + u32(1))
    yield "key-twice", Parts((("key", U32, u32(1)), ("key", U32, u32(2))))
    for alignment in (0, 1, 3, 33, 1 << 31):
        value = ("general.alignment", U32, u32(alignment))
        yield f"alignment-{alignment}", Parts((value,), (SOUND,), SOUND_DATA)
    for kind, said in ((STRING, text("\x1b[2J" * 99_999)), (F32, bytes(4)), (U64, bytes(8))):
        yield f"alignment-of-type-{kind}", one(kind, said, "general.alignment")


def _tensors() -> Iterator[Case]:
    def one(**changes: object) -> Parts:
        return Parts((), (replace(SOUND, **changes),), SOUND_DATA)  # type: ignore[arg-type]

    yield "fine-tensors", one()
    yield "name-long", one(name="x" * 65)
    yield "name-very-long", one(name="x" * 5000)
    yield "name-hostile", one(name="\x1b]0;x\x07\n\u202e" * 60, dimensions=0)
    for dimensions in (0, 2, 5, HUGE >> 32):
        yield f"dimensions-{dimensions}", one(dimensions=dimensions)
    for shape in ((0,), (1 << 63,), (HUGE,), (1 << 31, 1 << 31, 1 << 31), (3, 0), (33,)):
        yield f"shape-{'x'.join(map(str, shape))}", one(shape=shape)
    # 2**62 weights of 4 bytes wrap around to none (CVE-2025-53630 was of this kind).
    yield "size-wraps-around", one(shape=(1 << 62,))
    yield "size-wraps-around-in-two", one(shape=(1 << 31, 1 << 31))
    for kind in (4, 5, 9, 24, 31, 36, 99, 1 << 31, HUGE >> 32):
        yield f"kind-{kind}", one(kind=kind)
        yield f"kind-{kind}-matrix", one(kind=kind, shape=(32, 1))
    for offset in (1, 16, 32, 1 << 40, HUGE - 31, HUGE):
        yield f"offset-{offset}", one(offset=offset)
    yield "tensor-twice", Parts((), (SOUND, replace(SOUND, offset=128)), bytes(256))
    yield "tensors-overlap", Parts((), (SOUND, replace(SOUND, name="u")), SOUND_DATA)
    yield "data-missing", Parts((), (SOUND,), bytes(127))
    yield "data-not-there", Parts((), (SOUND,), b"")
    yield "padding-missing", Parts((), (SOUND,), SOUND_DATA, padding=b"")
    aligned = (("general.alignment", U32, u32(64)),)
    yield "fine-aligned", Parts(aligned, (SOUND,), SOUND_DATA, alignment=64)
    yield "alignment-not-kept", Parts(aligned, (SOUND,), bytes(96), alignment=32)


def _models(sound: Parts) -> Iterator[Case]:
    yield "fine-model", sound
    aligned = replace(sound.changed("general.alignment", U32, u32(64)), alignment=64)
    yield "fine-model-aligned", aligned
    described = sound.changed("general.description", STRING, text("\x1b]0;x\x07" * 999))
    yield "fine-model-described", described
    strange = text("\x1b[31mllama\n")
    yield "strange-architecture", sound.changed("general.architecture", STRING, strange)
    tokens, template = "tokenizer.ggml.tokens", "tokenizer.chat_template"
    yield "tokens-none", sound.changed(tokens, ARRAY, texts())
    yield "tokens-numbers", sound.changed(tokens, ARRAY, numbers(U32, "I", *range(259)))
    yield "tokens-a-text", sound.changed(tokens, STRING, text("a b c"))
    yield "template-huge", sound.changed(template, STRING, text("x" * 2_000_000))
    yield "template-a-number", sound.changed(template, U32, u32(7))
