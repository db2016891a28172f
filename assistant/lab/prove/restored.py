"""An answer that goes on after what was read of it was put on disk, forgotten and brought back."""

from collections.abc import Iterator
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from assistant.decoding.rules.coupled import CoupledRule
from assistant.engine.resume import Resuming
from assistant.lab.prove.events import Check
from assistant.lab.prove.pair import TASKS, ProvedPair
from assistant.lab.prove.side_by_side import by_ars, replayed_with, untouched
from assistant.lab.prove.texts import DecodedText, emptied
from assistant.lab.prove.turns import go_on
from models.base import Model

ROOM = 1 << 32
"""Bytes that the snapshot may take; it is gone when the comparison is over."""


class Slow:
    """A model that reads so slowly that all it has read is worth a snapshot."""

    seconds_a_token = inf

    def __init__(self, model: Model) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def restored(pair: ProvedPair, length: int, noise: float) -> Iterator[Check]:
    """Have a snapshot be all there is of an answer before its second half is said."""
    name = "an answer of which half was said before"
    prompt = pair.prompt(" ".join(TASKS))  # long enough to be worth a snapshot
    alone = by_ars(pair, prompt, length, pair.seed)
    text = by_ars(pair, prompt, length // 2, pair.seed)
    if not _put_aside_and_brought_back(pair, text):
        yield Check("restored", name, None, note="there was no room for a snapshot")
        return
    go_on(pair, text, "sps", length - length // 2)
    replay = replayed_with(pair, text, pair.warm, CoupledRule(pair.seed))
    yield untouched("restored", name, alone, text, replay, noise)


def _put_aside_and_brought_back(pair: ProvedPair, text: DecodedText) -> bool:
    """Have the cache hold what a snapshot held; say whether there was one."""
    target = Slow(pair.target)
    with TemporaryDirectory() as folder:
        for read_before in (True, False):
            if not read_before:
                emptied(pair.target).logits([*reversed(text.tokens)], rows=0)
            resuming = Resuming(cast(Any, target), "proof", Path(folder) / "snapshots", ROOM)
            resuming.begin(text.tokens, stored=True)
            if read_before:
                resuming.keep()
            resuming.close()
    return pair.target.cached(text.tokens) == text.end - 1
