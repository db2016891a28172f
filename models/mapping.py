"""Map a draft's vocabulary to its target's: ids differ, and some tokens are missing.

Timor et al. 2025, "Accelerating LLM Inference with Lossless Speculative Decoding Algorithms for
Heterogeneous Vocabularies", algorithm 4: tokens with the same bytes are the same, and tokens that
the target lacks are never proposed.

To compare two vocabularies of 150,000 tokens takes a second, so the result is stored: for each of
the target's tokens the draft's id, or what it reads instead. An invalid file is made again.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from pathlib import Path

from msgspec import MsgspecError, msgpack

from models.errors import ModelError
from models.files.disk import open_regular, write_private
from models.gguf import FileVocabulary, read_vocabulary
from models.gguf.header import Header
from models.gguf.vocabulary import BYTE, NO_TEXT, UNUSED, mismatch

MIN_COVERAGE = 0.7  # the share of a text's tokens that a draft must have to be useful
SAMPLE = Path(__file__).with_name("coverage_sample.txt").read_bytes()
"""Code and prose by which the coverage of a draft's vocabulary is measured."""
FOLDER = "mappings"
MAX_FILES = 16  # beyond them, the oldest are removed; one has up to two megabytes
VERSION = 2  # of the format and of the rules by which tokens are the same

SharedTokens = tuple[dict[int, int], int, Callable[[int], tuple[int, ...]] | None]
"""The draft's ids of the tokens in both vocabularies, by the target's, ascending; the size of the
target's vocabulary; and what the draft reads instead of other tokens of the target, None if only
padding is missing."""


def shared_tokens(target: FileVocabulary, draft: FileVocabulary) -> SharedTokens:
    """Return the tokens that two vocabularies share: by id where they agree, else by bytes.

    A `ModelError` says that the draft lacks too many of the target's tokens.
    """
    difference = mismatch(target, draft)
    if difference is None:
        return {token: token for token in range(min(target.size, draft.size))}, target.size, None
    ours, theirs = Spelling(target), Spelling(draft)
    pairs = {token: theirs.numbers.get(text) for text, token in ours.numbers.items()}
    pairs |= {token: theirs.controls.get(text) for text, token in ours.controls.items()}
    shared = {target: draft for target, draft in sorted(pairs.items()) if draft is not None}
    tokens = list(ours.spell(SAMPLE))
    covered = sum(token in shared for token in tokens) / max(1, len(tokens))
    if covered < MIN_COVERAGE:
        raise ModelError(
            f"a different vocabulary: {difference}, and it has only {covered:.0%} of the tokens of "
            f"ordinary text; {MIN_COVERAGE:.0%} is needed"
        )
    return shared, target.size, lambda token: tuple(theirs.spell(target.piece(token)))


class Spelling:
    """The tokens of a vocabulary by their bytes; of several with the same bytes, the first.

    Text is spelt with the longest token at each position, without the tokenizer's rules.
    """

    def __init__(self, vocabulary: FileVocabulary) -> None:
        self.numbers: dict[bytes, int] = {}
        self.controls: dict[bytes, int] = {}
        bytes_: dict[bytes, int] = {}  # SentencePiece has a token for each byte, too
        for token in range(vocabulary.size):
            if (kind := vocabulary.kind(token)) != UNUSED:
                tokens = self.controls if kind in NO_TEXT else self.numbers
                tokens = bytes_ if kind == BYTE else tokens
                tokens.setdefault(vocabulary.piece(token), token)
        self.numbers = bytes_ | self.numbers
        self._longest = max(map(len, self.numbers), default=0)

    def spell(self, text: bytes) -> Iterator[int]:
        """Yield tokens that make up `text`; bytes that no token has are skipped."""
        start = 0
        while start < len(text):
            ends = range(min(len(text), start + self._longest), start, -1)
            end = next((end for end in ends if text[start:end] in self.numbers), None)
            if end is not None:
                yield self.numbers[text[start:end]]
            start = end or start + 1


def cached_mapping(target: Header, draft: Header, folder: Path | None) -> SharedTokens:
    """Return `shared_tokens` of two files' vocabularies, from `folder` if it was stored there."""
    path = folder and folder / FOLDER / _name(target, draft)
    if path and (known := _read(path, target, draft)):
        return known
    shared, size, spell = shared_tokens(read_vocabulary(target.path), read_vocabulary(draft.path))
    if path and spell:
        reads = [shared[token] if token in shared else spell(token) for token in range(size)]
        with suppress(OSError):  # it is made again
            write_private(path, msgpack.encode(reads))
            by_age = sorted(path.parent.iterdir(), key=lambda file: -file.stat().st_mtime_ns)
            for old in by_age[MAX_FILES:]:
                old.unlink(missing_ok=True)
    return shared, size, spell


def _read(path: Path, target: Header, draft: Header) -> SharedTokens | None:
    try:
        with open_regular(path) as file:
            reads = msgpack.decode(file.read(), type=list[int | tuple[int, ...]])
    except (OSError, MsgspecError):
        return None
    shared = {token: read for token, read in enumerate(reads) if isinstance(read, int)}
    spelled = {token: read for token, read in enumerate(reads) if isinstance(read, tuple)}
    ids = chain(shared.values(), chain.from_iterable(spelled.values()))
    is_whole = len(reads) == target.n_vocab and all(0 <= id_ < (draft.n_vocab or 0) for id_ in ids)
    return (shared, len(reads), spelled.__getitem__) if is_whole else None


def _name(target: Header, draft: Header) -> str:
    """Return the name of a pair's file, by size and time of both."""
    try:
        states = [header.path.stat() for header in (target, draft)]
    except OSError as error:
        raise ModelError(f"{error.filename} cannot be read: {error.strerror}.") from error
    files = [(state.st_size, state.st_mtime_ns) for state in states]
    return sha256(f"{VERSION} {files}".encode()).hexdigest()[:32]
