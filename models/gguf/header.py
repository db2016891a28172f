"""The header of a GGUF file, which describes its model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from models.gguf.tensors import Tensors, read_tensors
from models.gguf.values import Length, Malformed, Value, open_stream
from models.gguf.vocabulary import TOKENIZER, TOKENS

_FILE_TYPE_NAMES = """0:F32 1:F16 2:Q4_0 3:Q4_1 7:Q8_0 8:Q5_0 9:Q5_1 10:Q2_K 11:Q3_K_S 12:Q3_K_M
13:Q3_K_L 14:Q4_K_S 15:Q4_K_M 16:Q5_K_S 17:Q5_K_M 18:Q6_K 19:IQ2_XXS 20:IQ2_XS 21:Q2_K_S
22:IQ3_XS 23:IQ3_XXS 24:IQ1_S 25:IQ4_NL 26:IQ3_S 27:IQ3_M 28:IQ2_S 29:IQ2_M 30:IQ4_XS 31:IQ1_M
32:BF16 36:TQ1_0 37:TQ2_0 38:MXFP4 39:NVFP4 40:Q1_0"""
_FILE_TYPES = dict(entry.split(":") for entry in _FILE_TYPE_NAMES.split())
_MAX_SCALE = 12
_LEAST_CONTEXT = 2
_RECURRENT = ("ssm.", "wkv.", "shortconv.", "kda.")
MERGES = "tokenizer.ggml.merges"
SERVES = "specchat.slim.target"
RECIPE, SOURCE = "specchat.slim.recipe", "specchat.slim.source"
SOURCE_SHA256 = "specchat.slim.source_sha256"
_EMBEDS = "an embedding model, which generates no text"
_PROJECTOR = "an image projector (mmproj), a part of another model"
_NOT_YET = "which guesses for one model, and llama.cpp does not let other programs run yet"
_HEADS = {"mtp": "an MTP head", "assistant": "an MTP head (an assistant)", "eagle": "an EAGLE head"}
_HEADS |= {"eagle3": "an EAGLE-3 head", "dflash": "a DFlash block", "medusa": "a Medusa head"}
_IS_HEAD = re.compile(rf"(?:.*[-_])?({'|'.join(_HEADS)})(?:[-_].*)?")
_HELPERS = {
    "mmproj": _PROJECTOR,
    "clip": _PROJECTOR,
    "adapter": "a LoRA adapter, which changes another model",
    "imatrix": "an importance matrix, by which another model was quantised",
    "controlvector": "a control vector, which steers another model",
}
_NO_TOKENIZER = ("none", "no_vocab")  # libraries abort the process that asks them for tokens
_NO_CHAT = {"t5": "an encoder-decoder model, which specchat does not run", "t5encoder": _EMBEDS}


@dataclass(frozen=True, slots=True)
class Header:
    """A file's description of its model; values that are missing are None."""

    path: Path
    size: int  # bytes of the file
    tensors: Tensors
    metadata: Mapping[str, Value | Length]  # long arrays and texts by their length only

    @property
    def architecture(self) -> str | None:
        """The kind of network, as llama.cpp calls it."""
        return self._text("general.architecture")

    @property
    def name(self) -> str | None:
        """The model's own name."""
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
        tokens = self.metadata.get(TOKENS)
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
    def kv_bytes_per_token(self) -> int | None:
        """Bytes of KV cache that one token takes at 16 bits a number.

        An upper bound: layers with a sliding window may keep fewer tokens than the context has.
        """
        if (layers := self.layers) is None or (heads := self._heads(layers)) is None:
            return None
        return 2 * heads * (self._head_size("key") + self._head_size("value"))

    @property
    def is_recurrent(self) -> bool:
        """Whether some layers have a state instead of keys and values."""
        prefixes = tuple(f"{self.architecture}.{name}" for name in _RECURRENT)
        return any(key.startswith(prefixes) for key in self.metadata)

    @property
    def has_movable_cache(self) -> bool:
        """Whether a KV cache is all of its state, and is the same in a context of another size."""
        depends = "attention.sliding_window", "rope.scaling.original_context_length"
        return not self.is_recurrent and not any(map(self.number, depends))

    @property
    def scale(self) -> str | None:
        """The number of parameters, such as "1.5B": as stated, or counted if it is not split."""
        label = self._text("general.size_label")
        if label and len(label) <= _MAX_SCALE:
            return label
        count = self.tensors.parameters
        if self.metadata.get("split.count") or not count:
            return None
        return f"{count / 1e9:.1f}B" if count >= 1e9 else f"{count / 1e6:.0f}M"

    @property
    def serves(self) -> str | None:
        """The target that it was made to draft for; see `models.slim`."""
        return self._text(SERVES)

    @property
    def helper(self) -> str | None:
        """The kind of a file that only belongs to another model, such as "a LoRA adapter"."""
        architecture, tensors = self.architecture or "", self.tensors
        kinds = {architecture, self._text("general.type")}
        if self.vocabulary is None:
            kinds |= {key.partition(".")[0] for key in self.metadata}
        for known in _HELPERS.keys() & kinds:
            return _HELPERS[known]
        named, heads = _IS_HEAD.fullmatch(architecture.lower()), tensors.heads
        kind = named[1] if named else "mtp" if 0 < tensors.blocks == heads else None
        return f"{_HEADS[kind]}, {_NOT_YET}" if kind else None

    @property
    def unusable_reason(self) -> str | None:
        """The kind of a file that is not a chat model, such as "an embedding model"; else None."""
        architecture = self.architecture or ""
        if known := self.helper or _NO_CHAT.get(architecture):
            return known
        if "bert" in architecture or self.number("pooling_type"):
            return _EMBEDS
        if self.vocabulary is None or self._text(TOKENIZER) in _NO_TOKENIZER:
            return "not a language model: it has no vocabulary"
        return None if self.tensors.count else "a vocabulary without weights"

    @property
    def vocabulary(self) -> str | None:
        """A digest of the tokens in order: equal digests mean equal vocabularies."""
        value = self.metadata.get(TOKENS)
        return value.digest if isinstance(value, Length) else None

    def number(self, key: str) -> int | None:
        """Return an integer of the architecture's own metadata."""
        return self._number(f"{self.architecture}.{key}")

    def _heads(self, layers: int) -> int | None:
        """Return how many heads all layers have together."""
        for key in ("head_count_kv", "head_count"):
            value = self.metadata.get(f"{self.architecture}.attention.{key}")
            if isinstance(value, tuple) and value:
                return sum(map(int, value)) * (layers if len(value) == 1 else 1)
            if isinstance(value, int):
                return value * layers
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
        return value.split("\0")[0] if isinstance(value, str) else None  # as libraries in C do


def read(path: Path) -> Header:
    """Read a file's header; a `ModelError` says what is wrong with it, if anything."""
    with open_stream(path) as (stream, tensors, values):
        metadata = {key: stream.value() for key in stream.keys(values)}
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise Malformed(f"its alignment is {repr(alignment)[:40]}")
        kind = metadata.get("general.architecture")
        used, experts = (metadata.get(f"{kind}.expert_{what}") for what in ("used_count", "count"))
        active = 1.0
        if isinstance(used, int) and isinstance(experts, int) and 0 < used < experts:
            active = used / experts
        table = read_tensors(stream, tensors, alignment, active)
        header = Header(path, stream.size, table, metadata)
        _check_numbers(header)
        return header


def _check_numbers(header: Header) -> None:
    """Refuse impossible numbers, which would crash the process that loads the file."""
    layers, blocks, n_ctx = header.layers, header.tensors.blocks, header.n_ctx_train
    is_part = header.helper or header.metadata.get("split.count")
    if layers is not None and blocks and not is_part and not blocks <= layers <= 2 * blocks:
        raise Malformed(f"it claims {layers} layers and has {blocks}")
    if n_ctx is not None and n_ctx < _LEAST_CONTEXT:
        raise Malformed(f"it claims a context of {n_ctx} tokens")
