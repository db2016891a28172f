"""The few facts of a header used to list, pair, compare and size models."""

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path

from models.gguf.header import Header, read
from models.gguf.values import Length
from models.gguf.vocabulary import TOKENS

_REPACKED = (2, 12, 20, 39)  # Q4_0, Q4_K, IQ4_NL, MXFP4: what llama.cpp's CPU kernels rearrange
_RECURRENT = ("ssm.", "wkv.", "shortconv.", "kda.")
_MAX_SCALE = 12
SERVES = "specchat.slim.target"
RECIPE, SOURCE = "specchat.slim.recipe", "specchat.slim.source"
SOURCE_SHA256 = "specchat.slim.source_sha256"
_MERGES = "tokenizer.ggml.merges"
_EMBEDS = "an embedding model, which generates no text"
_NOT_YET = "a kind of draft that llama.cpp does not let other programs run yet"
_FLAWS = {
    "eagle3": f"an EAGLE-3 head, {_NOT_YET}",
    "dflash": f"a DFlash block, {_NOT_YET}",
    "gemma4-assistant": f"a Gemma 4 assistant, {_NOT_YET}",
    "mmproj": "an image projector, part of another model",
    "adapter": "an adapter, part of another model",
    "imatrix": "an importance matrix, not a model",
    "clip": "an image projector, part of another model",
    "t5": "an encoder-decoder model, which specchat does not run",
    "t5encoder": _EMBEDS,
}


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """What is needed of a file to choose it. Plain values, because it is cached."""

    architecture: str
    name: str | None  # its maker's name for it
    scale: str | None  # its number of parameters, such as "1.5B"
    quantisation: str | None
    n_ctx_train: int | None
    n_vocab: int
    vocabulary: str | None  # equal if all tokens are
    kv_bytes_per_token: int
    width: int  # numbers per token while a batch is computed
    repacked: int  # bytes that llama.cpp holds a second time, rearranged for the CPU
    recurrent: bool  # whether it has a state instead of keys and values, in some layers at least
    state_bytes: int  # of that state
    plane_room: int  # states that llama.cpp can keep of a batch
    flaw: str | None  # why it cannot hold a conversation
    layers: int | None
    serves: str | None  # the target it was made to draft for; see `models.slim`
    heads: int  # blocks that predict the token after the next one
    head_bytes_per_token: int  # what those take besides, where they draft


def summarise(path: Path) -> ModelSummary:
    """Read a file's header and return what counts; a `ModelError` says what is wrong with it."""
    header = read(path)
    tokens = header.metadata.get(TOKENS)
    serves = header.metadata.get(SERVES)
    return ModelSummary(
        architecture=header.architecture or "",
        name=header.name,
        scale=_scale(header),
        quantisation=header.file_type,
        n_ctx_train=header.n_ctx_train,
        n_vocab=header.n_vocab or 0,
        vocabulary=tokens.digest if isinstance(tokens, Length) else None,
        kv_bytes_per_token=header.kv_bytes_per_token or 0,
        width=_width(header),
        repacked=sum(header.tensors.matrices.get(kind, 0) for kind in _REPACKED),
        recurrent=_is_recurrent(header),
        state_bytes=header.state_bytes,
        plane_room=header.plane_room,
        flaw=_flaw(header),
        layers=header.layers,
        serves=serves if isinstance(serves, str) else None,
        heads=header.heads,
        head_bytes_per_token=header.head_bytes_per_token,
    )


def _scale(header: Header) -> str | None:
    """Return what the file calls its size, or what its tensors add up to unless it is split."""
    label = header.metadata.get("general.size_label")
    if isinstance(label, str) and len(label) <= _MAX_SCALE:
        return label
    count = header.tensors.parameters
    if header.metadata.get("split.count") or not count:
        return None
    return f"{count / 1e9:.1f}B" if count >= 1e9 else f"{count / 1e6:.0f}M"


def _width(header: Header) -> int:
    """Return how many numbers the widest layer keeps for a token; measured, not derived."""
    embedding = header.number("embedding_length") or 0
    return 5 * embedding + 2 * (header.number("feed_forward_length") or 4 * embedding)


def _is_recurrent(header: Header) -> bool:
    prefixes = tuple(f"{header.architecture}.{name}" for name in _RECURRENT)
    return any(key.startswith(prefixes) for key in header.metadata)


def _flaw(header: Header) -> str | None:
    architecture = header.architecture or ""
    for kind in (header.metadata.get("general.type"), architecture):
        if isinstance(kind, str) and kind in _FLAWS:
            return _FLAWS[kind]
    if "bert" in architecture or header.number("pooling_type"):
        return _EMBEDS
    if not isinstance(header.metadata.get(TOKENS), Length):
        return "not a language model: it has no vocabulary"
    return None if header.tensors.count else "a vocabulary without weights"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Digests of the parts of a file that shape its prompts; None if a part is missing. They are
    small compared with the weights, and easy to change without them.
    """

    tokens: str | None
    merges: str | None
    template: str | None  # sha256

    def differing(self, other: "Fingerprint") -> tuple[str, ...]:
        """Return the names of the parts in which two files differ."""
        return tuple(
            _NAMES[field.name]
            for field in fields(self)
            if getattr(self, field.name) != getattr(other, field.name)
        )


_NAMES = {"tokens": "its vocabulary", "merges": "its merges", "template": "its chat template"}


def fingerprint(header: Header) -> Fingerprint:
    """Return the fingerprint of a file whose header was read."""
    template = header.template
    digest = None if template is None else hashlib.sha256(template.encode()).hexdigest()
    return Fingerprint(_digest(header, TOKENS), _digest(header, _MERGES), digest)


def _digest(header: Header, key: str) -> str | None:
    value = header.metadata.get(key)
    return value.digest if isinstance(value, Length) else None
