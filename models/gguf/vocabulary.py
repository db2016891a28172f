"""The tokens of a GGUF file, read without llama.cpp, and whether two vocabularies match."""

import re
from pathlib import Path

from models.errors import ModelError
from models.gguf.values import open_stream

TOKENS, KINDS = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
TOKENIZER = "tokenizer.ggml.model"
NORMAL, UNUSED, BYTE = 1, 5, 6
NO_TEXT = (2, 3)  # unknown, control
_SHOWN = 40  # characters of a token
_BYTE = re.compile(rb"<0x([0-9A-Fa-f]{2})>")
_PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
_OTHERS = sorted({*range(256)} - {*_PRINTABLE})
BYTE_NAMES = {byte: byte for byte in _PRINTABLE} | {256 + i: b for i, b in enumerate(_OTHERS)}
"""The byte that each character stands for in a GPT-2 vocabulary."""


class FileVocabulary:
    """The name of each token, and its text."""

    def __init__(self, texts: list[bytes], kinds: list[int], tokenizer: str = "gpt2") -> None:
        self.size = len(texts)
        self._texts, self._kinds, self._tokenizer = texts, kinds, tokenizer

    def text(self, token: int) -> str:
        """Return the name of a token, also of a control token."""
        return self._texts[token].decode("utf-8", "replace")

    def kind(self, token: int) -> int:
        """Return the format's number of a token's type."""
        return self._kinds[token] if token < len(self._kinds) else NORMAL

    def is_unused(self, token: int) -> bool:
        """Return whether a token is padding that no text produces."""
        return self.kind(token) == UNUSED

    def piece(self, token: int) -> bytes:
        """Return the bytes that a token stands for; of a control token, those of its name."""
        text, kind = self._texts[token], self.kind(token)
        if kind == BYTE and (byte := _BYTE.fullmatch(text)):
            return bytes([int(byte[1], 16)])
        if kind != NORMAL:  # written literally by the model's maker
            return text
        if self._tokenizer != "gpt2":  # SentencePiece writes a space as a low block
            return text.replace(b"\xe2\x96\x81", b" ")
        try:
            return text.decode().translate(BYTE_NAMES).encode("latin-1")
        except UnicodeError:  # a name that is not made of byte names stands for itself
            return text


def read_vocabulary(path: Path) -> FileVocabulary:
    """Read a file's tokens; a `ModelError` says why that cannot be done."""
    texts: list[bytes] = []
    kinds: list[int] = []
    tokenizer = ""
    with open_stream(path) as (stream, _, values):
        for key in stream.keys(values):
            if key == TOKENS:
                texts = stream.texts()
            elif key == KINDS:
                kinds = stream.integers()
            elif key == TOKENIZER:
                tokenizer = str(stream.value())
            else:
                stream.value()
            if texts and kinds and tokenizer:
                break
    if not texts:
        raise ModelError(f"{path} has no vocabulary; it is not a language model.")
    return FileVocabulary(texts, kinds, tokenizer)


def mismatch(target: FileVocabulary, draft: FileVocabulary) -> str | None:
    """Return why the vocabularies do not match, naming the first token that differs, or None.

    A token that only one of them uses is padding, whatever its number: it is never proposed, or
    never shown to the draft. Only a token with two meanings is refused.
    """
    for token in range(min(target.size, draft.size)):
        ours, theirs = target.text(token), draft.text(token)
        if ours != theirs and not (target.is_unused(token) or draft.is_unused(token)):
            named = f"token {token} is {_quote(ours)} in the target"
            return f"{named} and {_quote(theirs)} in the draft"
    larger = max(target, draft, key=lambda vocab: vocab.size)
    for token in range(min(target.size, draft.size), larger.size):
        if not larger.is_unused(token):
            role = "target" if larger is target else "draft"
            return f"token {token}, {_quote(larger.text(token))}, is only in the {role}"
    return None


def _quote(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
