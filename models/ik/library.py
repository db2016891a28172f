"""ik_llama.cpp as a `models.native.library.Library`."""

from functools import cache
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

from models import rpc_servers
from models.engines import ENGINES, PACKAGES
from models.errors import ModelError
from models.gguf.header import Header
from models.ik import bindings as c
from models.native import complaints
from models.native.batch import BATCH
from models.native.library import (
    POSITION_FIELDS,
    ContextSettings,
    HeadFunctions,
    WeightSettings,
    files_of,
)

TITLE, PACKAGE = ENGINES["ik"], PACKAGES["ik"]
CONTEXT_DEFAULTS: dict[str, object] = {
    "n_batch": 2048,
    "n_ubatch": 512,
    "yarn_ext_factor": -1.0,
    "defrag_thold": -1.0,
    "type_k": 1,
    "type_v": 1,
    "flash_attn": True,
    "fused_mmad": True,
    "graph_reuse": True,
    "abort_callback_data": None,
    "cuda_params": None,
}
MODEL_DEFAULTS: dict[str, object] = {
    "devices": None,
    "type_k": 1,
    "use_mmap": True,
    "repack_tensors": False,
    "dry_run": False,
}
ROTATIONS = ("none", "linear", "yarn")
RECURRENT = (".ssm.", ".wkv.", ".shortconv.")
"""Parts of keys that only files of models with a state have."""
CACHE_FIELDS = (*POSITION_FIELDS, "flash_attn", "type_k", "type_v")


@cache
def start() -> None:
    """Check that the bindings match the library, silence it and initialise it, once."""
    _check_layout()
    complaints.listen(c)
    c.llama_backend_init()


def _check_layout() -> None:
    """Read defaults whose values are known: misplaced fields would show others. The version is
    checked first: a larger structure would overwrite what follows ours.
    """
    if package_version(PACKAGE.name) == PACKAGE.version:
        context, model = c.llama_context_default_params(), c.llama_model_default_params()
        known = {name: getattr(context, name) for name in CONTEXT_DEFAULTS} == CONTEXT_DEFAULTS
        if known and {name: getattr(model, name) for name in MODEL_DEFAULTS} == MODEL_DEFAULTS:
            return
    raise ModelError(PACKAGE.misfit)


def model_params(settings: WeightSettings) -> Any:
    """Return the structure for loading weights."""
    if rpc_servers.servers():
        raise ModelError(f"{TITLE} computes only on this machine; use --engine llama.")
    params = c.llama_model_default_params()
    params.vocab_only = settings.vocab_only
    params.repack_tensors = settings.repack
    if settings.gpu_layers is not None:
        params.n_gpu_layers = settings.gpu_layers
    return params


def context_params(settings: ContextSettings) -> Any:
    """Return the structure for making a context."""
    params = c.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = settings.n_ctx, BATCH, BATCH
    params.n_seq_max = settings.sequences
    params.n_threads = params.n_threads_batch = settings.threads
    if settings.flash_attention is not None:
        params.flash_attn = settings.flash_attention
    return params


def refusal(header: Header) -> str | None:
    """Return why this library cannot run a file, or None. It crashes on RoPE types it does not
    know; and its recurrent states, which cannot be rolled back, are less well known than
    llama.cpp's.
    """
    scaling = header.metadata.get(f"{header.architecture}.rope.scaling.type", "none")
    if scaling not in ROTATIONS:
        return f"it does not support rotations of type {scaling}"
    if any(mark in key for key in header.metadata for mark in RECURRENT):
        return "recurrent and hybrid models are run by llama.cpp"
    return None


def heads(header: Header) -> HeadFunctions:
    """Refuse: it has no functions for them."""
    raise ModelError(f"{TITLE} runs no prediction heads ({header.path.name}); use --engine llama.")


def sliding_window(_model: int) -> int:
    """Return 0: its cache holds everything read, also for models with a sliding window."""
    return 0


def holds_several_texts() -> bool:
    """Say no.

    Its flash attention leaves out the blocks of cells at the end whose first cell the last token of
    the batch does not see (`iqk_fa_templates.h`): correct if one text has all cells, in order.
    """
    return False


def aborts_in_silence() -> bool:
    """Say yes: `llama_decode` drops the status of the computation (`llama_graph_compute`)."""
    return True


def can_repack() -> bool:
    """Say yes."""
    return True


def version() -> str:
    """Return the version of the package: the library reports none."""
    return package_version(PACKAGE.name)


@cache
def build() -> str:
    """Return what identifies this build of the library."""
    return files_of(Path(c.library_path).resolve().parent)


def features() -> str:
    """Return the features of processor and backends that are compiled in, `NAME = 1 | ...`."""
    text: bytes = c.llama_print_system_info()
    return text.decode()


def devices() -> list[str]:
    """Return a line for each device it computes on: the wheel supports only CPUs."""
    return ["CPU"]


def offloads_to_gpu() -> bool:
    """Say no."""
    return False
