"""A vocabulary without rarely used tokens; the rest keeps its order."""

import struct
from collections.abc import Mapping

import numpy as np

from models.base import Ids
from models.errors import ModelError
from models.gguf.header import MERGES
from models.gguf.values import ARRAY, STRING
from models.gguf.vocabulary import NORMAL, TOKENIZER, TOKENS, FileVocabulary
from models.slim import writing

_TRIMMED = ("gpt2", "llama")  # tokenizers that work with any part of their vocabulary


def most_frequent(vocabulary: FileVocabulary, size: int) -> Ids:
    """Return the ids of about `size` tokens to keep, ascending: those that are used most.

    Vocabularies are built in order of frequency. Control tokens and single bytes are always kept.
    """
    used = [token for token in range(vocabulary.size) if not vocabulary.is_unused(token)]
    needed, others = list[int](), list[int]()
    for token in used:
        plain = vocabulary.kind(token) == NORMAL and len(vocabulary.piece(token)) > 1
        (others if plain else needed).append(token)
    return np.sort(np.array([*needed, *others[: max(0, size - len(needed))]], np.intp))


def without(values: Mapping[str, bytes], ids: Ids, n_vocab: int) -> dict[str, bytes]:
    """Return the metadata of a file with only the tokens `ids`.

    Raises:
        ModelError: this kind of tokenizer needs all of its tokens.
    """
    kind = values.get(TOKENIZER, b"")[12:].decode("utf-8", "replace")
    if kind not in _TRIMMED:
        raise ModelError(f"Tokens cannot be removed from a vocabulary of type {kind!r}.")
    names = _texts(values[TOKENS])
    left = [names[i] for i in ids]
    changed = {TOKENS: writing.texts(left)}
    if MERGES in values:
        changed[MERGES] = writing.texts(_merges(values[MERGES], set(left)))
    gone: set[str] = set()
    for key, value in values.items():
        if key.endswith("_token_id"):
            place = _place(value, ids)
            gone |= {key} if place is None else set()
            changed[key] = writing.number(place or 0)
        elif key.endswith(".vocab_size"):
            changed[key] = writing.number(len(ids))
        elif key not in changed and (picked := _picked(value, ids, n_vocab)):
            changed[key] = picked
    return {key: changed.get(key, value) for key, value in values.items() if key not in gone}


def _texts(value: bytes) -> list[bytes]:
    texts: list[bytes] = []
    at = 16
    while at < len(value):
        end = at + 8 + int.from_bytes(value[at : at + 8], "little")
        texts.append(value[at + 8 : end])
        at = end
    return texts


def _merges(value: bytes, left: set[bytes]) -> list[bytes]:
    merges = [(merge, *merge[1:].partition(b" ")[::2]) for merge in _texts(value)]
    return [
        merge
        for merge, first, second in merges
        if {merge[:1] + first, second, merge[:1] + first + second} <= left
    ]


def _place(value: bytes, ids: Ids) -> int | None:
    """Return the new number of the token that a value names; None when it is not kept."""
    token = int.from_bytes(value[4:], "little")
    place = int(np.searchsorted(ids, token))
    return place if place < len(ids) and ids[place] == token else None


def _picked(value: bytes, ids: Ids, n_vocab: int) -> bytes | None:
    """Return the elements `ids` of an array with one number per token; None for anything else."""
    if len(value) < 16:
        return None
    kind, inner, count = struct.unpack_from("<IIQ", value)
    if kind != ARRAY or inner in (STRING, ARRAY) or count != n_vocab:
        return None
    numbers = np.frombuffer(value, np.uint8, offset=16).reshape(count, -1)
    return struct.pack("<IIQ", kind, inner, len(ids)) + numbers[ids].tobytes()
