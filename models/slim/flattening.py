"""Give matrices with steep kernels a flat type, and leave everything else unchanged."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from models.errors import ModelError, UsageError
from models.files.disk import require_room
from models.files.places import models_dir
from models.gguf.summary import SERVES
from models.gguf.tensors import Tensor, kind_name
from models.native.quantize import quantize
from models.slim.scratch import keep, no_halves, notes, scratch
from models.slim.writing import FileLayout, read_layout, write

STEEP = {3: "Q4_1", 7: "Q5_1", 13: "Q5_K", 14: "Q6_K"}
FLAT = {12: "Q4_K", 8: "Q8_0"}
_EMBEDDINGS = "token_embd.weight", "per_layer_token_embd.weight"


@dataclass(frozen=True, slots=True)
class FlatFile:
    """A flattened file, removed at the end unless it is kept."""

    path: Path
    place: Path  # where it is kept
    recipe: str
    share: float  # the share of the source's bytes that were changed

    def keep(self) -> Path:
        """Move it to the models, unless one has its name; return its path."""
        _refuse_taken(self.place)
        return keep(self.path, self.place)


def steep(layout: FileLayout) -> list[Tensor]:
    """Return the matrices to flatten: embeddings only if they are also the head.

    Raises:
        ModelError: there are none.
    """
    names = {tensor.name for tensor in layout.tensors}
    looked_up = {*_EMBEDDINGS} if "output.weight" in names else {_EMBEDDINGS[1]}
    found = [t for t in layout.tensors if t.kind in STEEP and t.name not in looked_up]
    if not found:
        kinds = sorted({kind_name(t.kind) for t in layout.tensors if t.is_matrix})
        raise ModelError(
            f"{layout.path} has nothing to flatten: its matrices are {', '.join(kinds)}; "
            f"only {', '.join(STEEP.values())} are steep."
        )
    return found


def flat(tensor: Tensor) -> int:
    """Return the new type of a steep matrix: Q4_K, or Q8_0 where its rows do not allow it.

    Measured with llama.cpp 0.3.36 of llama-cpp-python on an EPYC with AVX-512, processor time of
    one thread: the Q6_K matrices of Qwen2.5-Coder-1.5B Q4_K_M (a third of its bytes) as another
    type, its evaluations of 1, 2, 4 and 8 tokens relative to the original's, and the KL divergence
    in nats over 969 positions of sample text.

        type     t(1)  t(2)  t(4)  t(8)  KL mean  99 %   same top token  seconds to make
        Q4_K     0.87  0.86  0.88  0.70  0.0134   0.074  94.3 %          18
        IQ4_NL   0.90  0.88  0.85  0.69  0.0160   0.092  93.1 %          54
        Q4_0     0.93  0.89  0.85  0.68  0.0191   0.102  93.2 %          4
        Q8_0     1.25  1.14  0.97  0.73  0.0017   0.010  97.8 %          4

    Q4_K costs as little as any and is the closest of those that are as fast, for the head as for
    the other matrices. Q8_0 is closer, but a plain answer takes a quarter longer with it. Instead
    of Q4_1 and Q5_1, whose rows may not be whole blocks of Q4_K, Q8_0 is faster at every width (of
    a random model of three layers: 3.2 ms against 3.9 and 4.4 for a token, 13 against 22 and 24 for
    eight).
    """
    return 8 if tensor.shape[0] % 256 else 12


@contextmanager
def flattened(source: Path) -> Iterator[FlatFile]:
    """Make a flattened file next to the models, complete but not yet one of them.

    Raises:
        ModelError: there is nothing to flatten, or llama.cpp cannot.
        UsageError: a file of that name exists.
        StorageError: there is no room.
    """
    layout = read_layout(source)
    chosen = steep(layout)
    place = models_dir() / f"{source.stem}-flat.gguf"
    _refuse_taken(place)
    kinds = {t.name: t.kind for t in layout.tensors if len(t.shape) > 1}
    kinds |= {tensor.name: flat(tensor) for tensor in chosen}
    with scratch(source, copies=2) as folder:
        requantised, fresh = folder / "requantised.part", folder / place.name
        with no_halves(requantised):
            quantize(source, requantised, None, kinds=kinds)
        changed = _changed(layout, read_layout(requantised), chosen)
        recipe = _recipe(chosen)
        told = notes(source, layout.values, "flattened", recipe)
        values = {key: value for key, value in layout.values.items() if key != SERVES}
        require_room(folder, source.stat().st_size)
        with no_halves(fresh):
            write(layout, fresh, {**values, **told}, changed=changed)
        requantised.unlink()
        total = sum(tensor.size for tensor in layout.tensors)
        yield FlatFile(fresh, place, recipe, sum(t.size for t in chosen) / total)


def _refuse_taken(place: Path) -> None:
    if place.exists():
        raise UsageError(f"{place} exists already. Remove it to make it again.")


def _changed(layout: FileLayout, other: FileLayout, chosen: list[Tensor]) -> FileLayout:
    """Return only the requested tensors of what llama.cpp wrote."""
    wanted = {tensor.name: (tensor.shape, flat(tensor)) for tensor in chosen}
    found = [t for t in other.tensors if wanted.get(t.name) == (t.shape, t.kind)]
    if len(found) < len(wanted):
        raise ModelError(
            f"llama.cpp cannot flatten {layout.path}: it leaves some matrices unchanged."
        )
    return replace(other, tensors=tuple(found))


def _recipe(chosen: list[Tensor]) -> str:
    counts = Counter((STEEP[tensor.kind], FLAT[flat(tensor)]) for tensor in chosen)
    return ", ".join(f"{count} × {old} to {new}" for (old, new), count in sorted(counts.items()))
