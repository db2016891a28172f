"""The header of a GGUF file: what describes a model, and what it takes to run it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from models.errors import ModelError
from models.gguf import limits
from models.gguf.opening import reading
from models.gguf.tensors import Tensors, read_tensors
from models.gguf.values import Length, Malformed, Stream, Value

_MAX_VALUES = 10_000
_MAX_TENSORS = 65_536
_MAX_KEY = 1024
_FILE_TYPE_NAMES = """0:F32 1:F16 2:Q4_0 3:Q4_1 7:Q8_0 8:Q5_0 9:Q5_1 10:Q2_K 11:Q3_K_S 12:Q3_K_M
13:Q3_K_L 14:Q4_K_S 15:Q4_K_M 16:Q5_K_S 17:Q5_K_M 18:Q6_K 19:IQ2_XXS 20:IQ2_XS 21:Q2_K_S
22:IQ3_XS 23:IQ3_XXS 24:IQ1_S 25:IQ4_NL 26:IQ3_S 27:IQ3_M 28:IQ2_S 29:IQ2_M 30:IQ4_XS 31:IQ1_M
32:BF16 36:TQ1_0 37:TQ2_0 38:MXFP4 39:NVFP4 40:Q1_0"""
_FILE_TYPES = dict(entry.split(":") for entry in _FILE_TYPE_NAMES.split())
_NODES_PER_TENSOR = {"lfm2": 5, "lfm2moe": 6, "nemotron_h": 6, "nemotron_h_moe": 6}
"""Nodes that a graph has for each tensor, besides the states it keeps; measured, and rounded up."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about its model; None if it says nothing."""

    path: Path
    size: int  # bytes of the file
    version: int
    tensors: Tensors
    metadata: Mapping[str, Value | Length]  # long arrays and texts by their length only

    @property
    def architecture(self) -> str | None:
        """The kind of network, as llama.cpp calls it."""
        return self._text("general.architecture")

    @property
    def name(self) -> str | None:
        """What its maker calls the model."""
        return self._text("general.name")

    @property
    def file_type(self) -> str | None:
        """How most of the weights are quantised."""
        kind = self._number("general.file_type")
        return None if kind is None else _FILE_TYPES.get(str(kind), f"type {kind}")

    @property
    def template(self) -> str | None:
        """The Jinja chat template."""
        return self._text("tokenizer.chat_template")

    @property
    def n_vocab(self) -> int | None:
        """How many tokens the vocabulary has."""
        tokens = self.metadata.get("tokenizer.ggml.tokens")
        return tokens.count if isinstance(tokens, Length) else self.number("vocab_size")

    @property
    def n_ctx_train(self) -> int | None:
        """How many tokens of context the model was trained for."""
        return self.number("context_length")

    @property
    def layers(self) -> int | None:
        """How many blocks it has."""
        return self.number("block_count")

    @property
    def heads(self) -> int:
        """How many prediction heads it has: blocks that predict the token after the next one."""
        return min(self.number("nextn_predict_layers") or 0, self.tensors.heads)

    @property
    def kv_bytes_per_token(self) -> int | None:
        """Bytes of KV cache that one token takes at 16 bits a number.

        An upper bound: layers with a sliding window may keep fewer tokens than the context has.
        """
        heads, layers = self._heads(), self.layers
        if heads is None or layers is None:
            return None
        per_head = self._head_size("key") + self._head_size("value")
        in_all = sum(heads) if len(heads) > 1 else heads[0] * layers
        return 2 * in_all * per_head

    @property
    def head_bytes_per_token(self) -> int:
        """Bytes that one token takes when its prediction heads draft: keys and values of a block at
        16 bits a number, and the state that the other blocks made of it, at 32.
        """
        if not self.heads:
            return 0
        per_head = self._head_size("key") + self._head_size("value")
        cached = 2 * max(self._heads() or (0,)) * per_head
        return cached + 4 * self._size("embedding_length")

    @property
    def state_bytes(self) -> int:
        """Bytes of the recurrent state of one text, at 32 bits a number; 0 where there is none.

        As llama.cpp has it: what a convolution still looks at, and what is carried from token to
        token. That of kinds whose layout is not known here is not counted.
        """
        inner, state = self._size("ssm.inner_size"), self._size("ssm.state_size")
        convolved = inner + 2 * self._size("ssm.group_count") * state
        carried = max(0, self._size("ssm.conv_kernel") - 1) * convolved + inner * state
        width, kept = self._size("embedding_length"), self._size("shortconv.l_cache")
        if kept:
            carried = (kept - 1) * width
        if head := self._size("wkv.head_size"):
            carried = width * (head + (self.number("token_shift_count") or 2))
        return 4 * carried * self._recurrent_layers()

    @property
    def plane_room(self) -> int:
        """For how many tokens of a batch llama.cpp's graph can keep the states before them.

        It makes room for so many nodes a tensor, and ends the process where they are too few. Each
        state takes three in every layer that has one.
        """
        tensors = self._number("split.tensors.count") or self.tensors.count
        nodes = _NODES_PER_TENSOR.get(self.architecture or "")
        free = max(1024, (8 if nodes else 32) * tensors) - (nodes or 6) * tensors
        return max(0, free // (3 * max(1, self._recurrent_layers())) - 1)

    def _size(self, key: str) -> int:
        return self.number(key) or 0

    def _recurrent_layers(self) -> int:
        """Return how many layers have a state, in a file where some have one."""
        layers = self.layers or 0
        if self.architecture in ("qwen35", "qwen35moe", "qwen3next"):
            return layers - layers // (self.number("full_attention_interval") or 4)
        heads = self.metadata.get(f"{self.architecture}.attention.head_count_kv")
        if not isinstance(heads, tuple):
            return layers
        networks = self.metadata.get(f"{self.architecture}.feed_forward_length")
        if self.architecture not in ("nemotron_h", "nemotron_h_moe") or not isinstance(
            networks, tuple
        ):
            return heads.count(0)
        return list(zip(heads, networks, strict=False)).count((0, 0))

    @property
    def head_size(self) -> int:
        """How many numbers a key of one attention head has; 0 if the file does not say."""
        return self._head_size("key")

    def number(self, key: str) -> int | None:
        """Return an integer of the architecture's own metadata."""
        return self._number(f"{self.architecture}.{key}")

    def _heads(self) -> tuple[int, ...] | None:
        for key in ("head_count_kv", "head_count"):
            value = self.metadata.get(f"{self.architecture}.attention.{key}")
            if isinstance(value, tuple) and value:
                return tuple(int(heads) for heads in value)
            if isinstance(value, int):
                return (value,)
        return None

    def _head_size(self, what: str) -> int:
        heads = self.number("attention.head_count") or 0
        derived = (self.number("embedding_length") or 0) // heads if heads else 0
        return self.number(f"attention.{what}_length") or derived

    def _number(self, key: str) -> int | None:
        value = self.metadata.get(key)
        return value if isinstance(value, int) else None

    def _text(self, key: str) -> str | None:
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None


def read(path: Path) -> Header:
    """Read a file's header; a `ModelError` says what is wrong with it, if anything."""
    with reading(path) as stream:
        return _read(path, stream)


def _read(path: Path, stream: Stream) -> Header:
    version = stream.number("<I")
    if version not in (2, 3):
        raise ModelError(f"{path} is GGUF version {version}; specchat reads versions 2 and 3.")
    tensors = stream.count("tensors", _MAX_TENSORS)
    metadata: dict[str, Value | Length] = {}
    for _ in range(stream.count("values", _MAX_VALUES)):
        key = str(stream.text(_MAX_KEY))
        metadata[key] = stream.value()
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise Malformed(f"its alignment is {repr(alignment)[:40]}")
    header = Header(path, stream.size, version, read_tensors(stream, tensors, alignment), metadata)
    limits.check(metadata, header.head_size)
    if header.number("nextn_predict_layers") and not header.tensors.has_first_block:
        raise Malformed("it holds nothing but prediction heads, a part of another model")
    return header
