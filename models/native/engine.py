"""The interface of the libraries that run models: llama.cpp, and forks of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

from models.engines import Package
from models.errors import ModelError
from models.files import checksum
from models.gguf.header import Header

POSITION_FIELDS = (
    "rope_scaling_type", "rope_freq_base", "rope_freq_scale", "yarn_ext_factor", "yarn_attn_factor",
    "yarn_beta_fast", "yarn_beta_slow", "yarn_orig_ctx", "attention_type",
)  # fmt: skip
"""Settings of a context that decide on rotary positions and on attention."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How a context is made."""

    n_ctx: int
    max_rows: int
    threads: int
    rollback_slots: int = 0
    """How many states of the last tokens a recurrent model keeps, to roll back to them."""


@dataclass(frozen=True, slots=True)
class EngineLibrary:
    """A library that runs GGUF models; a process loads one of them."""

    title: str
    package: Package
    c: Any  # its C functions and structures, under llama.cpp's names
    folder: Path  # where its files are
    version: str
    context_defaults: Mapping[str, object]
    """Some known defaults of a context's settings, to detect structures of another layout."""
    model_defaults: Mapping[str, object]  # the same for the settings of weights
    cache_fields: tuple[str, ...]
    """Settings of a context that decide on the content and format of its cache."""
    adapt_model: Callable[[Any, bool], None]
    """Changes the C structure for loading weights; the second argument says whether they lie in the
    file as the kernels want them."""
    devices: Callable[[], list[str]]  # describes each device it computes on, in a line
    quantize: Callable[[Path, Path], str | None]
    """Writes a file to a path with every matrix as `Q4_0`; returns an error, or None. It may end
    the process, or replace it; see `models.slim.slim_draft`."""
    adapt_context: Callable[[Any, ContextSettings], None] = lambda _params, _settings: None
    """Changes the C structure for a context."""
    repack: Callable[[Path, Path], Sequence[str]] | None = None
    """Returns the command that writes a copy of a file with the weights as its kernels want them;
    None if there is no such form on disk."""
    unsupported_reason: Callable[[Header], str | None] = lambda _: None
    """Returns why it cannot run a file, before native code reads it; None if it can."""
    widest_batch: Callable[[Header], int | None] = lambda _: None
    """Returns how many tokens it evaluates correctly at once with a file; None: any number."""
    sliding_window: Callable[[Any], int] = lambda _: 0
    """Returns the size of the sliding window of loaded weights; 0 is none."""
    aborts_in_silence: bool = False  # whether it reports an aborted evaluation as a success
    aborts_safely: bool = True
    """Whether all threads of an evaluation see an abort at the same node; else it may hang."""
    computes_alike: bool = False
    """Whether logits are the same with any number of threads: to the bit, except by rounding where
    one token is evaluated after more than 1,000."""
    can_repack: bool = True  # whether weights can be rearranged for the processor's kernels
    offloads_to_gpu: bool = False

    def start(self) -> None:
        """Initialise the library; a `ModelError` says that its structures have another layout.

        Fields at other offsets have other values than the known defaults.
        """
        context, model = self.c.llama_context_default_params(), self.c.llama_model_default_params()
        for params, defaults in ((context, self.context_defaults), (model, self.model_defaults)):
            if {name: getattr(params, name) for name in defaults} != defaults:
                raise ModelError(self.package.mismatch)
        self.c.llama_backend_init()

    def model_params(self, gpu_layers: int | None, is_repacked: bool) -> Any:
        """Return the C structure for loading weights; so many layers are offloaded, None is all."""
        params = self.c.llama_model_default_params()
        if gpu_layers is not None:
            params.n_gpu_layers = gpu_layers
        self.adapt_model(params, is_repacked)
        return params

    def context_params(self, settings: ContextSettings) -> Any:
        """Return the C structure for a context."""
        params = self.c.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = settings.n_ctx, BATCH, BATCH
        # Batches of two or more, also verification, use the second count.
        params.n_threads = params.n_threads_batch = settings.threads
        self.adapt_context(params, settings)
        return params

    def features(self) -> str:
        """Return the features of processor and backends that are compiled in, `NAME = 1 | ...`."""
        return bytes(self.c.llama_print_system_info()).decode()

    def build(self) -> str:
        """Return the checksums of the library's files, the same in each installation of a build."""
        files = sorted(file for file in self.folder.glob("*") if file.is_file())
        return " ".join(f"{file.name}:{checksum.sha256_once(file)}" for file in files)

    def speed_key(self, path: Path, gpu_layers: int | None) -> str:
        """Return everything that speed depends on, as text: file, library and machine."""
        status = path.stat()
        package = f"{self.package.name} {package_version(self.package.name)}"
        what = f"{package} {self.version} {self.features().strip()}"
        file = f"{status.st_size} {status.st_mtime_ns}"
        return f"{file} | {what} | {', '.join(self.devices())} | gpu_layers={gpu_layers}"


BATCH = 256  # tokens per evaluation of a long prompt: few enough to stop soon
SEQUENCE = 0  # llama.cpp's number of the one text that a context holds
