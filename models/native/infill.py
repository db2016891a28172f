"""The tokens by which a model was taught to fill a gap in a text, found in its file."""

import ctypes
from collections.abc import Callable
from typing import Any

_KEYS = {
    "prefix": ("fim_pre", "prefix"), "suffix": ("fim_suf", "suffix"),
    "middle": ("fim_mid", "middle"), "pad": ("fim_pad",),
    "repository": ("fim_rep",), "file": ("fim_sep",),
}  # fmt: skip
# Of the token itself, where the file's header has none.
_TEXTS = {
    "prefix": "<|fim_prefix|> <fim_prefix> <fim-prefix> <｜fim▁begin｜> ▁<PRE> <PRE> "
    "<|code_prefix|> [PREFIX]",
    "suffix": "<|fim_suffix|> <fim_suffix> <fim-suffix> <｜fim▁hole｜> ▁<SUF> <SUF> "
    "<|code_suffix|> [SUFFIX]",
    "middle": "<|fim_middle|> <fim_middle> <fim-middle> <｜fim▁end｜> ▁<MID> <MID> "
    "<|code_middle|> [MIDDLE]",
    "pad": "<|fim_pad|> <fim_pad> <fim-pad> <PAD>",
    "repository": "<|repo_name|> <repo_name> <|fim_repo|> <fim-repo> <reponame> <REPO>",
    "file": "<|file_sep|> <file_sep> <|file_separator|>",
}
GAP_MARKS = [*zip(*(_TEXTS[part].split() for part in ("prefix", "suffix", "middle")), strict=True)]
"""The texts before, in and after what surrounds a gap, as each family of models has them."""


def infill_marks(
    c: Any, model: int | None, token_of: Callable[[str], int | None]
) -> dict[str, int]:
    """Return the token of each mark that a model has, by the part that it begins.

    They are named in the file's header, there by older names, or by their own texts.
    """
    marks: dict[str, int] = {}
    for part, names in _KEYS.items():
        named = (_value(c, model, f"tokenizer.ggml.{name}_token_id") for name in names)
        texts = (token_of(text) for text in _TEXTS[part].split())
        known = [token for token in (*named, *texts) if token is not None]
        marks |= {part: known[0]} if known else {}
    return marks


def _value(c: Any, model: int | None, key: str) -> int | None:
    """Return a number of the file's header; None if it has none of this name."""
    buffer = ctypes.create_string_buffer(16)
    length = c.llama_model_meta_val_str(model, key.encode(), buffer, len(buffer))
    return int(buffer.value) if length > 0 and buffer.value.isdigit() else None
