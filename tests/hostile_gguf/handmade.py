"""GGUF files made by hand, each with one thing in it that a reader must not fall for."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tests.hostile_gguf.parts import (
    ARRAY,
    BOOL,
    F32,
    I32,
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


def cases(bases: Sequence[Parts]) -> Iterator[tuple[str, bytes]]:
    """Yield names and files; those whose names begin with "fine" are sound."""
    sound, gemma, *_, sentencepiece = bases
    of_models = *_models(sound), *_assumptions(sound, gemma), *_vocabularies(sound, sentencepiece)
    for name, made in (*_heads(), *_values(), *_tensors(), *of_models):
        yield name, made if isinstance(made, bytes) else made.packed()


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
    yield (
        "fine-model-described",
        sound.changed("general.description", STRING, text("\x1b]0;x\x07" * 999)),
    )
    for key, values in (
        ("block_count", (0, 1, 3, 513, 1 << 31)),
        ("context_length", (0, 1, 2, 1 << 31, HUGE >> 32)),
        ("embedding_length", (0, 1, 63, 1 << 31)),
        ("feed_forward_length", (0, 1, 1 << 31)),
        ("attention.head_count", (0, 3, 1 << 31)),
        ("attention.head_count_kv", (0, 3, 1 << 31)),
        ("rope.dimension_count", (0, 1, 31, 33, 64, 1 << 31)),
        ("attention.sliding_window", (1, 1 << 31, HUGE >> 32)),
        ("expert_count", (1, 1 << 31)),
        ("vocab_size", (0, 1, 1 << 31)),
    ):
        for value in values:
            changed = sound.changed(f"llama.{key}", U32, u32(value))
            yield f"{key}-{value}", changed
    epsilon = "llama.attention.layer_norm_rms_epsilon"
    for number in (-1.0, float("nan"), float("inf")):
        yield f"epsilon-{number}", sound.changed(epsilon, F32, struct.pack("<f", number))
    yield "epsilon-text", sound.changed(epsilon, STRING, text("none"))
    yield "no-architecture", sound.changed("general.architecture", STRING, text(""))
    yield (
        "strange-architecture",
        sound.changed("general.architecture", STRING, text("\x1b[31mllama\n")),
    )
    experts = sound.changed("llama.expert_count", U32, u32(4))
    yield "experts-unused", experts.changed("llama.expert_used_count", U32, u32(0))
    split = sound.changed("split.count", 2, struct.pack("<H", 9))
    yield "a-part-of-nine", split.changed("split.no", 2, struct.pack("<H", 8))


def _assumptions(sound: Parts, gemma: Parts) -> Iterator[Case]:
    """What llama.cpp does not look at before it computes."""
    for turned in (1, 33, 64):
        changed = gemma.changed("gemma3.rope.dimension_count", U32, u32(turned))
        yield f"gemma-turns-{turned}", changed
    window = gemma.changed("gemma3.attention.sliding_window", U32, u32((1 << 31) - 1))
    yield "gemma-wide-window", window
    for name, kind in (
        ("blk.0.attn_k.weight", 26),
        ("blk.1.attn_k.weight", 26),
        ("blk.0.ffn_norm.weight", 9),
        ("blk.1.attn_norm.weight", 26),
    ):
        tensors = [replace(e, kind=kind) if e.name == name else e for e in sound.tensors]
        yield f"{name}-of-kind-{kind}", replace(sound, tensors=tuple(tensors))


def _vocabularies(sound: Parts, pieces: Parts) -> Iterator[Case]:
    tokens = "tokenizer.ggml.tokens"
    names = [f"t{i}" for i in range(259)]
    yield "fine-pieces", pieces
    yield "tokens-strange", sound.changed(tokens, ARRAY, texts(*names))
    yield "tokens-equal", sound.changed(tokens, ARRAY, texts(*names[1:], "t1"))
    yield "tokens-equal-to-c", sound.changed(tokens, ARRAY, texts(*names[1:], "t1\0x"))
    yield "tokens-empty", sound.changed(tokens, ARRAY, texts(*[""] * 259))
    yield "tokens-none", sound.changed(tokens, ARRAY, texts())
    yield "tokens-numbers", sound.changed(tokens, ARRAY, numbers(U32, "I", *range(259)))
    yield "tokens-a-text", sound.changed(tokens, STRING, text("a b c"))
    yield "pieces-without-bytes", pieces.changed(tokens, ARRAY, texts(*names))
    lacking = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))]
    kinds_of = [2, 3, 3, *[6] * 256]
    at = lacking.index("<0xC3>")  # the first byte of é
    lacking[at], kinds_of[at] = "word", 1
    without = pieces.changed(tokens, ARRAY, texts(*lacking))
    yield (
        "pieces-without-one-byte",
        without.changed("tokenizer.ggml.token_type", ARRAY, numbers(I32, "i", *kinds_of)),
    )
    # A piece "<0x-1>" was written before the table of bytes (llama.cpp issue 25969).
    hostile = [f"<0x{i:02X}>" for i in range(256)] + ["<0x-1>", "<0x>", "<0xZZ>"]
    yield "pieces-of-strange-bytes", pieces.changed(tokens, ARRAY, texts(*hostile))
    scores, kinds = "tokenizer.ggml.scores", "tokenizer.ggml.token_type"
    yield "scores-few", pieces.changed(scores, ARRAY, numbers(F32, "f", 0.0))
    yield "scores-none", pieces.changed(scores, ARRAY, numbers(F32, "f"))
    yield "scores-of-ints", pieces.changed(scores, ARRAY, numbers(I32, "i", *[0] * 259))
    yield "kinds-few", pieces.changed(kinds, ARRAY, numbers(I32, "i", 1))
    yield "kinds-strange", sound.changed(kinds, ARRAY, numbers(I32, "i", *[77] * 259))
    for which in ("bos", "eos", "unknown", "padding"):
        for token in (259, 1 << 31, HUGE >> 32):
            key = f"tokenizer.ggml.{which}_token_id"
            yield f"{which}-{token}", sound.changed(key, U32, u32(token))
    added = pieces.changed("tokenizer.ggml.add_bos_token", BOOL, b"\2")
    yield "bos-added-in-vain", added.changed("tokenizer.ggml.bos_token_id", U32, u32(HUGE >> 32))
    for model in ("", "bert", "t5", "rwkv", "none", "no such kind"):
        yield f"tokenizer-{model}", sound.changed("tokenizer.ggml.model", STRING, text(model))
    merges = ["", "a", " a", "a ", "a b c", "\xff", "a b"]
    yield "merges-strange", sound.changed("tokenizer.ggml.merges", ARRAY, texts(*merges))
    template = "tokenizer.chat_template"
    yield "template-huge", sound.changed(template, STRING, text("x" * 2_000_000))
    yield "template-a-number", sound.changed(template, U32, u32(7))
