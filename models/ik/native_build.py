"""Choose between the library that `make native` compiled and the wheel's, by speed:
`python -m models.ik.native_build`.
"""

import os
import sys
from contextlib import closing
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from models import catalog, child_process
from models.drafts import find_target
from models.engines import PACKAGES
from models.errors import SpecchatError
from models.ik import COMPILED, USED, VARIABLE, conditions
from models.progress import silent

ENDS = {124: 1, 128: 4, 129: 1}
"""Ends of the evaluations, and their rows: of a prompt, of four tokens, and of one."""
TURNS, CYCLES = 9, 2
"""Processes of each library, which take turns, and measurements in each; the best counts."""
FASTER = 1.02  # speed-up over the wheel from which a turn counts for the new library: less is noise
CLEAR = 7
"""Turns that agree if no other program disturbs them. The majority decides."""
ERROR = 0.25  # the relative difference of its logits from the wheel's that is allowed


def compare(target: Path) -> str:
    """Choose the faster library for a model; return the result as a sentence."""
    USED.unlink(missing_ok=True)
    wheel = PACKAGES["ik"].folder / "lib" / COMPILED.name
    outputs: dict[Path, list[Any]] = {wheel: [], COMPILED: []}
    for library in [*outputs] * TURNS:
        os.environ[VARIABLE] = str(library)
        output, error = child_process.run("models.ik.native_build", target)
        if error is not None:
            return f"the wheel stays in use: {error or 'a process ended abruptly'}"
        outputs[library].append(np.frombuffer(output, np.float32))
    (times, rows), (our_times, our_rows) = (
        np.split(np.array(turns), [len(ENDS)], axis=1) for turns in outputs.values()
    )
    if not np.linalg.norm(our_rows[0] - rows[0]) < ERROR * np.linalg.norm(rows[0]):
        return "the wheel stays in use: the new library computes other logits"
    # Within a turn, because other programs slow both libraries.
    ratios = times / our_times
    prompt, four, one = np.median(ratios, axis=0)
    result = f"{prompt:.2f} times as fast in prompts, {one:.2f} for one token, {four:.2f} for four"
    votes = np.count_nonzero(np.log(ratios).mean(axis=1) > log(FASTER))
    if TURNS - CLEAR < votes < CLEAR:
        agree = max(votes, TURNS - votes)
        result += f"; only {agree} of {TURNS} turns say so, run it again when nothing else runs"
    if votes <= TURNS // 2:
        return f"the wheel stays in use: {result}"
    USED.write_text(" ".join(conditions()))
    return f"it is used from now on: {result}"


def _measure(target: Path) -> bytes:
    """Return the seconds of each evaluation, and all logits that followed, as floats."""
    from models.native import loaded
    from models.native.model import NativeModel
    from models.native.weights import Weights

    loaded.use("ik")
    seconds, rows = list[float](), list[Any]()
    with closing(Weights(target)) as weights, closing(NativeModel(weights, n_ctx=512)) as model:
        for _ in range(CYCLES):
            model.truncate(0)
            for end, count in ENDS.items():
                tokens, before = [7919 * i % model.n_vocab for i in range(end)], model.busy_s
                rows.append(model.logits(tokens, count)[-1].copy())
                seconds.append(model.busy_s - before)
    best = np.reshape(seconds, (CYCLES, -1)).min(axis=0)
    return np.concatenate([best, *rows]).astype(np.float32).tobytes()


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.stdout.buffer.write(_measure(Path(sys.argv[1])))
        sys.exit()
    try:
        print(compare(find_target(catalog.DEFAULT.target.name, (), silent)))
    except (SpecchatError, OSError) as error:
        sys.exit(str(error))
