"""Try inputs until it is enough, keep what is new, save what breaks the target."""

import hashlib
import random
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from time import thread_time

from tests.fuzz.mutating import mutated
from tests.fuzz.targets import Target

SLOW_S = 5.0
"""Seconds that no input may compute for."""
_MOST_KEPT = 2000


class Hunt:
    """One target and the folder where its corpus and its crashers are."""

    def __init__(self, target: Target, folder: Path) -> None:
        self._target = target
        self._folder = folder
        self._seen: set[str] = set()
        self.tried = 0
        self.crashers: list[Path] = []
        folder.mkdir(parents=True, exist_ok=True)
        kept = [path.read_bytes() for path in sorted(folder.glob("kept-*"))]
        self._corpus = [*target.seeds(), *kept]
        for data in self._corpus:
            self.attempt(data)

    def run(self, enough: Callable[[], object], seed: int | None = None) -> None:
        """Mutate until it is enough."""
        rng = random.Random(seed)
        while not enough():
            self.attempt(mutated(self._corpus, self._target.words, rng))

    def attempt(self, data: bytes) -> None:
        """Try one input; it is kept if it ends as none did before."""
        self.tried += 1
        started = thread_time()
        try:
            outcome = type(self._target.run(data)).__name__
        except self._target.refusals as error:
            # What differs in numbers and names alone is no news.
            outcome = re.sub(r"\d+|'[^']*'|/\S+", "", str(error))[:80]
        except Exception:
            outcome = self._crash(data, traceback.format_exc())
        if thread_time() - started > SLOW_S:
            outcome = self._crash(data, f"slow: more than {SLOW_S} seconds\n")
        if outcome not in self._seen and len(self._seen) < _MOST_KEPT:
            self._seen.add(outcome)
            self._corpus.append(data)
            self._save("kept", data)

    def _crash(self, data: bytes, why: str) -> str:
        where = "crash at " + "".join(re.findall(r"line \d+, in \w+", why)[-1:] or [why[:40]])
        if where not in self._seen:
            path = self._save("crash", data)
            path.with_suffix(".txt").write_text(why)
            self.crashers.append(path)
        return where

    def _save(self, kind: str, data: bytes) -> Path:
        path = self._folder / f"{kind}-{hashlib.sha256(data).hexdigest()[:16]}"
        path.write_bytes(data)
        return path
