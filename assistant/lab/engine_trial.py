"""How fast an engine runs a file: `python -m assistant.lab.engine_trial ENGINE FILE ...`.

A separate process measures it, as a process loads one engine; and a library that does not suit this
processor, or a file that it crashes on, ends only that process.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import cast

import msgspec

from assistant.engine.engine_choice import EngineChoice, EngineFigures, remember_engine
from assistant.engine.profile import MEASURING_S, Profile, probe_text
from assistant.lab.protocol import Measuring
from assistant.request import EngineArgs
from models import child_process, engines
from models.engines import ENGINES, EngineName
from models.errors import ModelError
from models.native import loaded
from models.progress import CancelFlag

CHUNK = 64
PROMPT = 256  # tokens that are read at most
N_CTX = 512


def compare(
    setup: EngineArgs, folder: Path, cancel: CancelFlag, emit: Callable[[Measuring], None]
) -> EngineChoice:
    """Try all engines with a setup's target, and remember which is the fastest."""
    figures: dict[EngineName, EngineFigures] = {}
    failures: list[str] = []
    for name in engines.installed():
        emit(Measuring(f"the target with {ENGINES[name]}", 0.0, None))
        try:
            figures[name] = run(name, setup, cancel)
        except ModelError as error:
            failures.append(str(error))
    choice = fastest(figures, failures)
    with suppress(OSError):
        remember_engine(setup, folder, choice)
    return choice


def fastest(figures: Mapping[EngineName, EngineFigures], failures: list[str]) -> EngineChoice:
    """Return the engine with the fastest typical answer, and the reason."""
    if not figures:  # llama.cpp will say what is wrong with the file
        return EngineChoice("llama", " ".join(failures))
    best, *others = sorted(figures, key=lambda name: figures[name].answer_s)
    if not others:
        return EngineChoice(best, " ".join(failures) or "No other engine is installed.", figures)
    ratio = figures[others[0]].answer_s / figures[best].answer_s
    reason = f"A typical answer takes {ENGINES[others[0]]} {ratio:.2f} times as long."
    return EngineChoice(best, reason, figures)


def run(engine: EngineName, setup: EngineArgs, cancel: CancelFlag) -> EngineFigures:
    """Try an engine with a file; a `ModelError` says why it cannot, or can run nothing here."""
    path, settings = setup.target, msgspec.json.encode((setup.gpu_layers, setup.threads)).decode()
    output, complaint = child_process.run(__name__, engine, path, settings, cancel=cancel)
    if complaint is not None:
        prefix = f"{ENGINES[engine]} cannot run "
        reason = complaint.removeprefix(f"{prefix}{path}: ") or "it ended abruptly"
        raise ModelError(f"{prefix}{path.name}: {reason}")
    return msgspec.json.decode(output, type=EngineFigures)


def _measure(
    engine: EngineName, path: Path, gpu_layers: int | None, threads: int | None
) -> EngineFigures:
    loaded.use(engine)
    from assistant.engine.batch_check import limit_batch
    from models.native.model import NativeModel
    from models.native.weights import Weights

    with (
        closing(Weights(path, gpu_layers)) as weights,
        closing(NativeModel(weights, n_ctx=N_CTX, threads=threads)) as model,
    ):
        limit_batch(model, None)
        model.truncate(0)
        busy_s, tokens = model.busy_s, probe_text(PROMPT, model.n_vocab)
        for end in range(CHUNK, PROMPT + 1, CHUNK):
            model.logits(tokens[:end], rows=0)
            if model.busy_s - busy_s > MEASURING_S:
                break
        reading_s = model.seconds_per_token
        assert reading_s is not None
        profile = Profile(model)
        profile.measure()
        return EngineFigures(reading_s, profile.of_target.seconds)


if __name__ == "__main__":
    name, file, settings = sys.argv[1:]
    figures = _measure(cast(EngineName, name), Path(file), *msgspec.json.decode(settings))
    sys.stdout.buffer.write(msgspec.json.encode(figures))
