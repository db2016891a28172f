"""What llama.cpp assumes, and crashes on if it does not hold."""

from collections.abc import Mapping
from math import isfinite

from models.gguf.values import Length, Malformed, Value

_MAX_LAYERS = 512
_MAX_EXPERTS = 1024
_MAX_TOKENS = 1 << 31  # llama.cpp counts them in 32 bits with a sign
_MAX_WINDOW = 1 << 24
_TOKENS = "tokenizer.ggml.tokens"


def check(metadata: Mapping[str, Value | Length], head_size: int) -> None:
    """Refuse what would end the process instead of failing to load.

    `head_size` is how many numbers a head of the attention has; 0 if unknown.
    """
    architecture = metadata.get("general.architecture")
    _check_tokens(metadata)
    for key, what, least, most in (
        ("block_count", "layers", 1, _MAX_LAYERS),
        ("context_length", "tokens of context", 2, _MAX_TOKENS - 1),
        ("attention.sliding_window", "tokens of sliding window", 0, _MAX_WINDOW),
    ):
        value = metadata.get(f"{architecture}.{key}")
        if isinstance(value, int) and not least <= value <= most:
            raise Malformed(f"it claims {value} {what}")
    _check_rope(metadata, architecture, head_size)
    _check_experts(metadata, architecture)
    for key, value in metadata.items():
        if key.endswith("epsilon") and not (isinstance(value, float) and 0 <= value < 1):
            raise Malformed(f"{key!r} is {_short(value)}")
        if key.startswith(f"{architecture}.") and isinstance(value, float) and not isfinite(value):
            raise Malformed(f"{key!r} is {_short(value)}")


def _short(value: object) -> str:
    return repr(value)[:40]


def _check_tokens(metadata: Mapping[str, Value | Length]) -> None:
    tokens = metadata.get(_TOKENS)
    if not isinstance(tokens, Length):
        return
    if tokens.distinct != tokens.count:
        raise Malformed("two of its tokens have the same text")
    if metadata.get("tokenizer.ggml.model") == "llama" and not tokens.has_bytes:
        raise Malformed("its vocabulary lacks a byte, so some text has no tokens")


def _check_rope(
    metadata: Mapping[str, Value | Length], architecture: object, head_size: int
) -> None:
    turned = metadata.get(f"{architecture}.rope.dimension_count")
    least = 2 if f"{architecture}.rope.freq_base" in metadata else 0  # for none it loops forever
    if isinstance(turned, int) and head_size and (turned % 2 or not least <= turned <= head_size):
        raise Malformed(f"it rotates {turned} dimensions of heads that have {head_size}")
    sections = metadata.get(f"{architecture}.rope.dimension_sections")
    parts = (
        [part for part in sections if isinstance(part, int)] if isinstance(sections, tuple) else []
    )
    if head_size and not 0 <= sum(map(abs, parts)) <= head_size:
        raise Malformed(f"it rotates {_short(sections)} dimensions of heads that have {head_size}")


def _check_experts(metadata: Mapping[str, Value | Length], architecture: object) -> None:
    experts = metadata.get(f"{architecture}.expert_count")
    if not isinstance(experts, int) or experts == 0:
        return
    if experts > _MAX_EXPERTS:
        raise Malformed(f"it claims {experts} experts")
    used = metadata.get(f"{architecture}.expert_used_count")
    most = max(used, default=0) if isinstance(used, tuple) else used  # one number, or one per layer
    if not isinstance(most, int) or not 1 <= most <= experts:
        raise Malformed(f"it uses {_short(used)} of {experts} experts")
