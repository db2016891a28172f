"""What models need of the library that runs them: llama.cpp, or a fork of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

from models.engines import Package
from models.errors import ModelError
from models.gguf.header import Header

POSITION_FIELDS = (
    "rope_scaling_type", "rope_freq_base", "rope_freq_scale", "yarn_ext_factor", "yarn_attn_factor",
    "yarn_beta_fast", "yarn_beta_slow", "yarn_orig_ctx", "attention_type",
)  # fmt: skip
"""Settings of a context that decide how keys are rotated by position, and what is attended to."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How a context is made."""

    n_ctx: int
    max_rows: int
    threads: int
    rollback_slots: int = 0
    """How many states of the last tokens to keep, where a model is recurrent and can."""


@dataclass(frozen=True, slots=True)
class EngineLibrary:
    """A library that runs GGUF models; a process loads one of them."""

    title: str
    package: Package
    c: Any  # its C functions and structures, under llama.cpp's names
    folder: Path  # where its files are
    version: str
    context_defaults: Mapping[str, object]
    """Some defaults of a context's settings; a library laid out differently shows others."""
    model_defaults: Mapping[str, object]  # the same for the settings of weights
    cache_fields: tuple[str, ...]
    """Settings of a context that decide what its cache holds, and how."""
    model_params: Callable[[int | None], Any]
    """Makes the C structure for loading weights and offloading so many layers; None is all."""
    context_params: Callable[[ContextSettings], Any]  # makes the C structure for a context
    devices: Callable[[], list[str]]  # describes each device it computes on, in a line
    quantize: Callable[[Path, Path], str | None]
    """Writes a file to a place with every matrix as `Q4_0`; returns what went wrong, or None. It
    may end the process, or replace it; see `models.slim.slim_draft`."""
    refusal: Callable[[Header], str | None] = lambda _: None
    """Says why it cannot run a file, before native code sees it; None if it can."""
    widest_batch: Callable[[Header], int | None] = lambda _: None
    """Says how many tokens of a file it evaluates correctly at once; None if any number."""
    sliding_window: Callable[[Any], int] = lambda _: 0
    """Says how many tokens back the cache of loaded weights reaches; 0 means all."""
    aborts_in_silence: bool = False
    """Whether an evaluation that was aborted is reported as a success."""
    aborts_safely: bool = True
    """Whether all threads of an evaluation see an abort at the same node; else it may hang."""
    can_repack: bool = True  # whether weights can be rearranged for the processor's kernels
    offloads_to_gpu: bool = False

    def start(self) -> None:
        """Check that the bindings match the library, and initialise it.

        Misplaced fields would show other values than the defaults that are known.

        Raises:
            ModelError: its structures have another layout.
        """
        for params, defaults in (
            (self.c.llama_context_default_params(), self.context_defaults),
            (self.c.llama_model_default_params(), self.model_defaults),
        ):
            if {name: getattr(params, name) for name in defaults} != defaults:
                raise ModelError(self.package.misfit)
        self.c.llama_backend_init()

    def features(self) -> str:
        """Return the features of processor and backends that are compiled in, `NAME = 1 | ...`."""
        text: bytes = self.c.llama_print_system_info()
        return text.decode()

    def build(self) -> str:
        """Return the sizes and times of the library's files, which differ between builds."""
        files = sorted(file for file in self.folder.glob("*") if file.is_file())
        stamps = ((file.name, file.stat()) for file in files)
        return " ".join(f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in stamps)

    def speed_key(self, path: Path, gpu_layers: int | None) -> str:
        """Return as text what speed depends on: the file, the library and the machine.

        Raises:
            OSError: there is no such file.
        """
        status = path.stat()
        package = f"{self.package.name} {package_version(self.package.name)}"
        what = f"{package} {self.version} {self.features().strip()}"
        file = f"{status.st_size} {status.st_mtime_ns}"
        return f"{file} | {what} | {', '.join(self.devices())} | gpu_layers={gpu_layers}"
