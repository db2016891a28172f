"""ik_llama.cpp as a `models.native.engine.EngineLibrary`."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from models.engines import ENGINES, PACKAGES
from models.errors import ModelError
from models.ik import COMPILED, unsupported_reason, widest_batch
from models.ik import bindings as c
from models.machine import compute_cores
from models.native import native_log
from models.native.engine import POSITION_FIELDS, EngineLibrary

PACKAGE = PACKAGES["ik"]
CONTEXT_DEFAULTS: dict[str, object] = {
    "n_batch": 2048, "n_ubatch": 512, "yarn_ext_factor": -1.0, "defrag_thold": -1.0, "type_k": 1,
    "type_v": 1, "flash_attn": True, "fused_mmad": True, "graph_reuse": True,
    "abort_callback_data": None, "cuda_params": None,
}  # fmt: skip
MODEL_DEFAULTS: dict[str, object] = {
    "devices": None, "type_k": 1, "use_mmap": True, "repack_tensors": False, "dry_run": False,
}  # fmt: skip


def _adapt_model(params: Any, is_repacked: bool) -> None:
    params.repack_tensors = not is_repacked


def _quantize(source: Path, path: Path) -> NoReturn:
    command = _quantizer(source, path, "--allow-requantize", "--pure")
    os.execv(command[0], command)


def _quantizer(source: Path, path: Path, *options: str) -> list[str]:
    """Return the command of the package's own program."""
    program = PACKAGE.folder / "bin" / "llama-quantize"
    return [str(program), *options, str(source), str(path), "Q4_0", str(compute_cores())]


def engine() -> EngineLibrary:
    """Return the library."""
    # Structures of another version are not read: a larger one would overwrite what follows ours.
    if version(PACKAGE.name) != PACKAGE.version:
        raise ModelError(PACKAGE.mismatch)
    native_log.capture(c)  # first: the library logs while it searches for devices
    how = ", compiled for this processor" if c.library_path == str(COMPILED) else ""
    return EngineLibrary(
        ENGINES["ik"],
        PACKAGE,
        c,
        folder=Path(c.library_path).resolve().parent,
        version=f"{PACKAGE.version}{how}",  # it reports none
        context_defaults=CONTEXT_DEFAULTS,
        model_defaults=MODEL_DEFAULTS,
        cache_fields=(*POSITION_FIELDS, "flash_attn", "type_k", "type_v"),
        adapt_model=_adapt_model,
        devices=lambda: ["CPU"],  # the wheel supports no others
        quantize=_quantize,
        repack=lambda source, path: _quantizer(source, path, "--repack"),  # to types of its own
        unsupported_reason=unsupported_reason,
        widest_batch=widest_batch,
        aborts_in_silence=True,  # `llama_decode` drops the status of the computation
        # A thread that is slow to leave the barrier of one node may see the abort of the next, and
        # leave; then the others wait for it at the next barrier, and no wait ends.
        aborts_safely=False,
        computes_alike=True,
    )
