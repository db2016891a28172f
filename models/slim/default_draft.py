"""The default pair's draft, made faster after the download: in seconds, without sample text.

The tokens that it keeps are shipped with the program as a compressed list of bits, one for each
token of the vocabulary. `python -m tests.tools.public_text.vocabulary` chose them.
"""

import zlib
from pathlib import Path
from time import monotonic

import numpy as np
import numpy.typing as npt

from models import catalog
from models.drafts import made_here, mark
from models.errors import ModelError, SpecchatError
from models.files.locate import identify
from models.progress import Progress, Report
from models.slim import slim_draft

TOKENS = Path(__file__).with_name("default_tokens.zlib")


def kept() -> tuple[npt.NDArray[np.intp], int]:
    """Return the kept tokens, ascending, and the size of the whole vocabulary."""
    bits = np.unpackbits(np.frombuffer(zlib.decompress(TOKENS.read_bytes()), np.uint8))
    return np.flatnonzero(bits), len(bits)


def made(report: Report) -> Path | None:
    """Return the default target's own draft, made now unless there is one.

    `report` is told how long it took, or why none can be made: then the draft is used unchanged.
    """
    if here := made_here(identify(catalog.DEFAULT.target.name)):
        return here.path
    report(Progress(0, 0, "making a faster draft"))
    started = monotonic()
    try:
        path = make()
    except SpecchatError as error:
        report(Progress(0, 0, "", f"{error} The draft is used as downloaded."))
        return None
    report(Progress(0, 0, "", f"Made a faster draft of it in {monotonic() - started:.0f} s."))
    return path


def make() -> Path:
    """Make the draft that the default target gets from then on; return where it is.

    Raises:
        ModelError: a file of the pair is not here, or no engine can requantise it.
        StorageError: there is no room.
    """
    pair = catalog.DEFAULT
    target, draft = identify(pair.target.name), identify(pair.draft.name)
    ids, size = kept()
    if draft.header is None or draft.header.n_vocab != size:
        raise ModelError(f"{draft.path} has a different vocabulary from {pair.draft.name}.")
    return slim_draft.make(draft.path, ids, mark(target))
