"""What the host does for one row of logits, in milliseconds: `python -m tests.tools.rows TARGET`.

The rows are those of real answers. A row is checked for numbers, warped, and a token is drawn from
it; the time is the processor's, so that other programs do not count. Bars, at 151,936 entries: 0.25
with top-k, top-p or min-p, 1 without, and an argmax at temperature 0. It asserts nothing.
"""

import sys
from pathlib import Path
from statistics import median
from time import thread_time

import numpy as np

from assistant.decoding.draw import draw
from assistant.decoding.warp import Sampling, warp
from models.base import Logits
from models.llama.model import LlamaModel
from models.llama.weights import Weights

TOKENS = 24  # of each answer
QUESTIONS = (
    "Write a Python class for a stack.",
    "Tell a story about a storm over a village.",
    "What is 17*23? Explain.",
)
SAMPLINGS = {
    "temperature 0": Sampling(0),
    "the default": Sampling(),
    "top-k": Sampling(0.8, 40, 1),
    "top-k, top-p, min-p, penalty": Sampling(0.8, 40, 0.95, 0.05, 1.1),
    "top-p": Sampling(0.8, 0, 0.95),
    "min-p": Sampling(0.8, 0, 1, 0.05),
    "top-p at temperature 2": Sampling(2, 0, 0.95),
    "temperature 0.8": Sampling(0.8, 0, 1),
    "temperature 2": Sampling(2, 0, 1),
}


def rows(target: Path) -> list[Logits]:
    """Return the logits of every token of some answers at temperature 0.8."""
    weights = Weights(target)
    model, vocab, found = LlamaModel(weights, n_ctx=512), weights.vocab, []
    rng = np.random.default_rng(1)
    for question in QUESTIONS:
        tokens = vocab.tokenize(f"Question: {question}\nAnswer:")
        for _ in range(TOKENS):
            found.append(model.logits(tokens)[0].copy())
            tokens.append(draw(warp(found[-1], SAMPLINGS["temperature 0.8"], tokens), rng))
    model.close()
    weights.close()
    return found


def main() -> None:
    found = rows(Path(sys.argv[1]))
    rng = np.random.default_rng(1)
    history = list(range(100))
    print(f"{len(found)} rows of {len(found[0]):,}: milliseconds each, and tokens kept (median)")
    for name, sampling in SAMPLINGS.items():
        taken, kept = [], []
        for logits in found:
            logits = logits.copy()  # llama.cpp has just written it, too
            started = thread_time()
            assert np.isfinite(logits.max())
            row = warp(logits, sampling, history)
            draw(row, rng)
            taken.append(1000 * (thread_time() - started))
            kept.append(len(row.ids))
        print(f"{name:30} {median(taken):7.3f} {median(kept):10,.0f}")


if __name__ == "__main__":
    main()
