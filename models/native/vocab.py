"""Text to tokens and back, with the vocabulary of a GGUF file."""

import ctypes
from functools import cached_property
from itertools import repeat
from typing import Any

from models.errors import UsageError
from models.gguf.header import Header

CONTROL = 8
STOP_TEXTS = {
    "<|endoftext|>", "<|end_of_text|>", "<|eom_id|>", "<|return|>", "<|call|>",
    "<|tool_response>",  # of Gemma 4, when it waits for the results of its calls
}  # fmt: skip
# What a file's header calls the tokens by which the model was taught to fill a gap; some older.
_MARK_KEYS = {
    "prefix": ("fim_pre", "prefix"), "suffix": ("fim_suf", "suffix"),
    "middle": ("fim_mid", "middle"), "pad": ("fim_pad",),
    "repository": ("fim_rep",), "file": ("fim_sep",),
}  # fmt: skip
# Their texts, where the header names none.
_MARK_TEXTS = {
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
_AROUND_GAP = (_MARK_TEXTS[part].split() for part in ("prefix", "suffix", "middle"))
GAP_MARKS = [*zip(*_AROUND_GAP, strict=True)]
"""The texts before, in and after what surrounds a gap, as each family of models has them."""


class Vocab:
    """The vocabulary of loaded weights: text to tokens and back. It lives as long as they do."""

    def __init__(self, c: Any, model: int | None, header: Header) -> None:
        self._c, self._header = c, header
        self._vocab = c.llama_model_get_vocab(model)
        self.size: int = c.llama_vocab_n_tokens(self._vocab)
        self._pieces: dict[int, bytes] = {}
        attributes = map(c.llama_vocab_get_attr, repeat(self._vocab), range(self.size))
        controls = [token for token, known in enumerate(attributes) if known & CONTROL]
        self.controls = {self.text(token): token for token in controls}
        """The control tokens, by their text."""
        self.stop_tokens = self._stop_tokens()  # the tokens by which the model ends its turn
        bos = c.llama_vocab_bos(self._vocab)
        self.bos: int | None = bos if c.llama_vocab_get_add_bos(self._vocab) else None
        """The token that a prompt begins with, if it must."""
        ends = bos, c.llama_vocab_eos(self._vocab)
        self.bos_text, self.eos_text = (self.text(token) if token >= 0 else "" for token in ends)
        self.template = header.template or None  # the Jinja chat template of the file

    @cached_property
    def infill_marks(self) -> dict[str, int]:
        """The tokens that begin the parts of a prompt with a gap, by the part."""
        marks: dict[str, int] = {}
        for part, names in _MARK_KEYS.items():
            keys = (f"tokenizer.ggml.{name}_token_id" for name in names)
            named = map(self._header.metadata.get, keys)
            spelt = map(self._token_of, _MARK_TEXTS[part].split())
            known = (token for token in (*named, *spelt) if isinstance(token, int))
            if (mark := next(known, None)) is not None:
                marks[part] = mark
        return marks

    def _token_of(self, text: str) -> int | None:
        """Return the token with a text of its own, also if it is a control token."""
        if text in self.controls:
            return self.controls[text]
        tokens = self.tokenize(text, special=True)
        return tokens[0] if len(tokens) == 1 and self.text(tokens[0]) == text else None

    def _stop_tokens(self) -> frozenset[int]:
        # A library's own set also contains infilling and repository marks, and any "</s>" that a
        # vocabulary has for HTML. An answer may contain those.
        ends = {self._c.llama_vocab_eos(self._vocab), self._c.llama_vocab_eot(self._vocab)}
        ends |= {self.controls[text] for text in STOP_TEXTS & self.controls.keys()}
        if {"<|return|>", "<|call|>"} <= self.controls.keys():  # an answer has several messages
            ends = {token for token in ends if token < 0 or self.text(token) != "<|end|>"}
        return frozenset(ends - {-1})

    def text(self, token: int) -> str:
        """Return the name of a token, also of a control token."""
        if not 0 <= token < self.size:  # a library would end the process
            raise ValueError(f"token must be in 0..{self.size - 1}: {token}")
        name: bytes = self._c.llama_vocab_get_text(self._vocab, token)
        return name.decode("utf-8", "replace")

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return the tokens of plain text; only if `special`, names in it become control tokens."""
        tokenize, data = self._c.llama_tokenize, text.encode("utf-8", "replace")
        needed = -tokenize(self._vocab, data, len(data), None, 0, False, special)
        if needed <= 0:
            return []
        tokens = (ctypes.c_int32 * needed)()
        count = tokenize(self._vocab, data, len(data), tokens, needed, False, special)
        return list(tokens[:count])

    def tokenize_inside(self, text: str) -> list[int]:
        """Return tokens that spell a text to the byte, as it stands inside a longer one.

        SentencePiece begins a text with a blank of its own; here it stands before a character that
        is left out again.
        """
        wanted = text.encode("utf-8", "replace")
        for before in ("", "\n", "☺"):
            tokens = self.tokenize(before + text)
            pieces = [*map(self.piece, tokens)]
            while pieces and sum(map(len, pieces)) > len(wanted):
                del pieces[0]
            if b"".join(pieces) == wanted:
                return tokens[len(tokens) - len(pieces) :]
        raise UsageError("The tokens of this model cannot spell the text around the gap exactly.")

    def piece(self, token: int) -> bytes:
        """Return the bytes of one token; a control token has none."""
        if token not in self._pieces:
            self._pieces[token] = self._read_piece(token, 32)
        return self._pieces[token]

    def _read_piece(self, token: int, capacity: int) -> bytes:
        if not 0 <= token < self.size:
            return b""
        buffer = ctypes.create_string_buffer(capacity)
        length = self._c.llama_token_to_piece(self._vocab, token, buffer, capacity, 0, False)
        return self._read_piece(token, -length) if length < 0 else buffer.raw[:length]
