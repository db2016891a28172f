"""The tokens of a GGUF file, read without llama.cpp."""

from pathlib import Path

from models.errors import ModelError
from models.gguf.opening import open_model
from models.gguf.values import Malformed, Stream

TOKENS, KINDS = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_UNUSED = 5


class FileVocabulary:
    """What each token is called, and which of them are padding."""

    def __init__(self, texts: list[bytes], kinds: list[int]) -> None:
        self.size = len(texts)
        self._texts, self._kinds = texts, kinds

    def text(self, token: int) -> str:
        """Return the name of a token, also of a control token."""
        return self._texts[token].decode("utf-8", "replace")

    def is_unused(self, token: int) -> bool:
        """Say whether a token is padding that no text maps to."""
        return token < len(self._kinds) and self._kinds[token] == _UNUSED


def read_vocabulary(path: Path) -> FileVocabulary:
    """Read a file's tokens; a `ModelError` says why that cannot be done.

    Meant for a file whose header was read before: only what is read here is checked.
    """
    with open_model(path) as file:
        try:
            return _read(path, Stream(file))
        except Malformed as error:
            raise ModelError(f"{path} is damaged: {error}. Fetch it again.") from error
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error.strerror}.") from error


def _read(path: Path, stream: Stream) -> FileVocabulary:
    stream.number("<I")
    stream.number("<Q")
    texts: list[bytes] = []
    kinds: list[int] = []
    for _ in range(stream.number("<Q")):
        key = stream.text()
        if key == TOKENS:
            texts = stream.texts()
        elif key == KINDS:
            kinds = stream.integers()
        else:
            stream.value()
        if texts and kinds:
            break
    if not texts:
        raise ModelError(f"{path} has no vocabulary; it is not a language model.")
    return FileVocabulary(texts, kinds)
