"""Readers take or refuse any input. SPECCHAT_FUZZ=1000000 tries a night."""

import os
import random
import re
from time import thread_time

import pytest

from tests.fuzz.mutating import mutated
from tests.fuzz.targets import TARGETS, Target

TRIES = int(os.environ.get("SPECCHAT_FUZZ", "300"))
SLOW_S = 5.0
"""Seconds that no input may compute for."""
MOST_KEPT = 2000


def outcome(target: Target, data: bytes) -> str:
    """Return how a target ends for an input; what differs in numbers and names is the same."""
    started = thread_time()
    try:
        kind = type(target.run(data)).__name__
    except target.refusals as error:
        kind = re.sub(r"\d+|'[^']*'|/\S+", "", str(error))[:80]
    except Exception as error:
        raise AssertionError(f"this breaks it: {data!r}") from error
    assert thread_time() - started < SLOW_S, f"this is slow: {data!r}"
    return kind


@pytest.mark.parametrize("name", TARGETS)
def test_a_moment_of_fuzzing_breaks_nothing(name):
    """An input that ends as none did before is mutated, too."""
    target, rng = TARGETS[name], random.Random(TRIES)
    corpus = [*target.seeds()]
    seen = {outcome(target, data) for data in corpus}
    for _ in range(TRIES):
        data = mutated(corpus, target.words, rng)
        if (kind := outcome(target, data)) not in seen and len(seen) < MOST_KEPT:
            seen.add(kind)
            corpus.append(data)
    assert len(seen) > 1
