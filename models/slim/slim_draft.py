"""Make a faster draft from a model file: 4-bit weights, and only the tokens that are used most.

Engines cannot be stopped while they quantise, and end their process over some files. That process
is `python -m models.slim.slim_draft ENGINE SOURCE PATH`.
"""

import shutil
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import cast
from uuid import uuid4

import numpy as np

from models import catalog, child_process, engines
from models.base import Ids
from models.drafts import own_draft, target_mark
from models.engines import ENGINES, EngineName
from models.errors import ModelError, SpecchatError, StorageError, raising
from models.files import checksum
from models.files.disk import private_folder, require_space
from models.files.gguf_files import parts_of
from models.files.locate import identify
from models.files.places import models_dir
from models.gguf import read_vocabulary
from models.gguf.header import RECIPE, SERVES, SOURCE, SOURCE_SHA256
from models.native import loaded
from models.progress import Progress, Report
from models.slim import writing
from models.slim.writing import read_layout

KIND = "Q4_0"
"""The type of all matrices. On the default pair it costs two points of acceptance and halves the
time of a draft's step."""
NAME = "general.name"
SCRATCH = ".slim-"
"""Prefix of folders of unfinished files: hidden, so that these are not listed as models."""
STALE_S = 24 * 3600
DEFAULT_TOKENS = Path(__file__).with_name("default_tokens.zlib")
"""The tokens that the default pair's draft keeps: a compressed list of bits, one for each token of
the vocabulary. `python -m tests.tools.public_text.vocabulary` chose them."""


def make(source: Path, ids: Ids, serves: str, check: Callable[[Path], object]) -> Path:
    """Make a draft of `source` among the models, with the tokens `ids` alone; return its path.

    `serves` is the mark of the target that prefers it from then on; see `models.drafts`. An error
    of `check`, which reads the draft before it has its name, leaves everything as it was.
    """
    if parts_of(source):
        raise ModelError(f"{source} is one part of a split model; choose a model in one file.")
    is_whole = len(ids) == (size := read_vocabulary(source).size)
    recipe = KIND if is_whole else f"{KIND}, {len(ids):,} tokens"
    label = KIND.lower() if is_whole else f"{KIND.lower()}-{len(ids)}"
    path = models_dir() / f"{source.stem}-slim-{label}.gguf"
    with _scratch(path.parent, 2 * source.stat().st_size) as folder:
        requantised, fresh = folder / "requantised.part", folder / path.name
        quantize(source, requantised)
        layout = read_layout(requantised)
        values = dict(layout.values) if is_whole else writing.trimmed(layout.values, ids, size)
        name = values[NAME][12:].decode("utf-8", "replace") if NAME in values else source.stem
        origin = {NAME: f"{name} slim", RECIPE: recipe, SOURCE: source.name, SERVES: serves}
        origin[SOURCE_SHA256] = checksum.sha256_once(source)
        values |= {key: writing.text_value(value) for key, value in origin.items()}
        writing.write(layout, fresh, values, ids)
        check(fresh)
        digest = checksum.sha256(fresh)
        fresh.replace(path)
        checksum.remember(path, digest)
    return path


def quantize(source: Path, path: Path) -> None:
    """Write `source` to `path` with every matrix as Q4_0; the caller removes a partial file.

    A `ModelError` says why no engine here can, a `StorageError` that the disk became full.
    """
    engine = engines.default_engine()
    if engine not in engines.installed():
        raise ModelError(f"{source} cannot be requantised. {engines.missing_message('llama')}")
    _, complaint = child_process.run("models.slim.slim_draft", engine, source, path)
    if complaint is not None:
        require_space(path.parent, 0)  # an engine does not say that the disk is full
        title = ENGINES[engine]
        reason = complaint or f"{title} ended abruptly"
        raise ModelError(f"{title} cannot requantise {source}: {reason}.")


def default_tokens() -> tuple[Ids, int]:
    """Return the kept tokens, ascending, and the size of the whole vocabulary."""
    bits = np.unpackbits(np.frombuffer(zlib.decompress(DEFAULT_TOKENS.read_bytes()), np.uint8))
    return np.flatnonzero(bits), len(bits)


def default_draft(report: Report) -> Path | None:
    """Return the default target's own draft, made now unless there is one.

    `report` receives how long it took, or why it failed: then the draft is used unchanged.
    """
    target = identify(catalog.DEFAULT.target.name)
    if here := own_draft(target):
        return here.path
    report(Progress(0, 0, "making a faster draft"))
    started = monotonic()
    try:
        ids, size = default_tokens()
        draft = identify(catalog.DEFAULT.draft.name)
        if draft.header is None or draft.header.n_vocab != size:
            raise ModelError(f"{draft.path} has a different vocabulary from {draft.name}.")
        path = make(draft.path, ids, target_mark(target), read_vocabulary)
    except SpecchatError as error:
        report(Progress(0, 0, "", f"{error} The draft is used as downloaded."))
        return None
    report(Progress(0, 0, "", f"Made a faster draft of it in {monotonic() - started:.0f} s."))
    return path


@contextmanager
def _scratch(parent: Path, needed: int) -> Iterator[Path]:
    """Open a temporary folder for `needed` bytes in another one; it is removed at the end."""
    # Named before it is made: an interrupt that comes as it appears still finds it.
    folder = parent / f"{SCRATCH}{uuid4().hex}"
    advice = " Make room there, or choose another place with SPECCHAT_MODELS."
    try:
        with raising(StorageError, f"No model can be written to {parent}", advice):
            private_folder(parent)
            for left in parent.glob(SCRATCH + "[0-9a-f]" * 32):  # by a program that was killed
                with suppress(OSError):
                    if time.time() - left.stat().st_mtime > STALE_S:
                        shutil.rmtree(left, ignore_errors=True)
            require_space(parent, needed)
            folder.mkdir(0o700)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    name, source, path = sys.argv[1:]
    try:
        sys.exit(loaded.use(cast(EngineName, name)).quantize(Path(source), Path(path)))
    except OSError as error:  # its program is not there
        sys.exit(str(error))
