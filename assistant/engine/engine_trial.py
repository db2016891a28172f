"""How fast an engine runs a file: `python -m assistant.engine.engine_trial ENGINE FILE ...`.

It is found out in a separate process, as a process loads one engine; and a library that does not
suit this processor, or a file that it dies of, ends no more than that.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec
import numpy as np

from assistant.decoding.lookahead import theory
from assistant.decoding.lookahead.cost_measurement import TARGET_LIMIT_S, time_target, varied
from models import child_process
from models.base import Logits, Model
from models.cancel import CancelFlag
from models.engines import ENGINES, EngineName
from models.errors import Cancelled, ModelError, SpecchatError
from models.native import loaded

VERSION = 2
"""Of the trial; choices that another one led to are made again."""
LOOK_S = 0.05
"""Seconds between two looks whether the trial is to be stopped."""
CHUNK = 64
PROMPT = 256
"""Tokens that are read at most."""
N_CTX = 512
ANSWER = 128
"""Tokens of a typical answer, and of what is read for it."""
NARROW = 16
ERROR = 0.5
"""How far a row may be from that of narrow batches, against its own length. Rounding gives 0.05;
the kernels of ik_llama.cpp for 32 and more tokens of Q4_1 weights give 1 and more."""


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """What an engine takes for a file."""

    reading_s: float
    """Seconds to read a token of a prompt."""
    seconds: Mapping[int, float]
    """Seconds of an evaluation, by width."""

    @property
    def answer_s(self) -> float:
        """The seconds of a typical answer: a prompt is read, a half is plain, a half speculated.

        The latter at the best lookahead of proposals that take no time, and are accepted as often
        as is typical.
        """
        _, speedup = theory.best_lookahead(theory.TYPICAL, self.seconds, 0.0)
        return ANSWER * (self.reading_s + self.seconds[1] * (1 + 1 / speedup) / 2)


def run(
    engine: EngineName, path: Path, gpu_layers: int | None, threads: int | None, cancel: CancelFlag
) -> EngineFigures:
    """Try an engine with a file.

    Raises:
        ModelError: the engine cannot run the file, or nothing at all here; the text has its reason.
        Cancelled: `cancel` was raised.
    """
    settings = msgspec.json.encode((gpu_layers, threads)).decode()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with child_process.start(__name__, engine, path, settings, **pipes) as process:
        try:
            said, complained = _outcome(process, cancel)
        finally:
            process.kill()
    try:
        return msgspec.json.decode(said, type=EngineFigures)
    except msgspec.DecodeError:
        lines = complained.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1] if process.returncode == 1 and lines else "it ended abruptly"
        raise ModelError(f"{ENGINES[engine]} cannot run {path.name}: {reason}") from None


def _outcome(process: "subprocess.Popen[bytes]", cancel: CancelFlag) -> tuple[bytes, bytes]:
    while not cancel.raised:
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=LOOK_S)
    raise Cancelled


def _measured(
    engine: EngineName, path: Path, gpu_layers: int | None, threads: int | None
) -> EngineFigures:
    loaded.use(engine)
    from models.native.library import WeightSettings
    from models.native.model import NativeModel
    from models.native.weights import Weights

    with (
        closing(Weights(path, WeightSettings(gpu_layers))) as weights,
        closing(NativeModel(weights, n_ctx=N_CTX, threads=threads)) as model,
    ):
        tokens = varied(PROMPT, model.n_vocab)
        for end in range(CHUNK, PROMPT + 1, CHUNK):
            model.logits(tokens[:end], rows=0)
            if model.busy_s > TARGET_LIMIT_S:
                break
        reading_s = model.seconds_a_token
        assert reading_s is not None
        figures = EngineFigures(reading_s, time_target(model).seconds)
        _compare_batches(model, tokens[:CHUNK])
        return figures


def _compare_batches(model: Model, tokens: Sequence[int]) -> None:
    """Look whether tokens in one batch have the logits that they have in several.

    Raises:
        ModelError: they have not.
    """
    model.logits(tokens[1:2])  # which has the cache forget all others
    wide = model.logits(tokens)[0].copy()
    model.logits(tokens[1:2])
    for end in range(NARROW, len(tokens) + 1, NARROW):
        row = model.logits(tokens[:end])[0]
    if _length(wide - row) > ERROR * _length(row):
        raise ModelError(f"{len(tokens)} tokens in one batch have other logits than in several.")


def _length(row: Logits) -> float:
    """Return the length of logits, less what all of them have in common."""
    return float(np.linalg.norm(row - row.mean()))


if __name__ == "__main__":
    name, file, settings, parent = sys.argv[1:]
    child_process.die_with(int(parent))
    try:
        figures = _measured(cast(EngineName, name), Path(file), *msgspec.json.decode(settings))
    except SpecchatError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(msgspec.json.encode(figures))
