"""What models need of the library that runs them: llama.cpp, or a fork of it."""

from dataclasses import dataclass
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any, Literal, Protocol

from models.engines import Package
from models.gguf.header import Header

POSITION_FIELDS = (
    "rope_scaling_type",
    "rope_freq_base",
    "rope_freq_scale",
    "yarn_ext_factor",
    "yarn_attn_factor",
    "yarn_beta_fast",
    "yarn_beta_slow",
    "yarn_orig_ctx",
    "attention_type",
)
"""Settings of a context that decide how keys are rotated by position, and what is attended to."""


@dataclass(frozen=True, slots=True)
class WeightSettings:
    """How weights are loaded."""

    gpu_layers: int | None = None
    """How many layers to offload; None is all, when the library can offload."""
    repack: bool = True
    """Whether to rearrange weights for the processor's kernels, if it has any."""
    at_home: bool = False
    """Whether to keep all layers on this machine; see `models.rpc_servers`."""
    vocab_only: bool = False
    """Whether to read only the vocabulary and the metadata."""
    heads: bool = False
    """Whether to load the prediction heads as well."""


USUAL = WeightSettings()


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How a context is made."""

    n_ctx: int
    max_rows: int
    sequences: int
    threads: int
    flash_attention: bool | None = None
    """None leaves it to the library."""
    use: Literal["target", "target with heads", "heads"] = "target"
    """What it is for. With heads, a target gives out its states; as heads, it takes them."""
    planes: int = 0
    """How many states of the last tokens to keep, where a model is recurrent and can."""


class HeadFunctions(Protocol):
    """What a library needs to run the heads of a model; see `models.native.heads`."""

    def give_states(self, context: Any, of_all: bool) -> None:
        """Have a context give out states: of all tokens of a batch, or of those with logits."""
        ...

    def states(self, context: Any) -> Any:
        """Return a C pointer to the states of the last batch."""
        ...


class Library(Protocol):
    """A library that runs GGUF models: a module each; a process loads one of them."""

    TITLE: str
    """Its display name."""
    PACKAGE: Package
    """The Python package that provides it."""
    CACHE_FIELDS: tuple[str, ...]
    """Settings of a context that decide what its cache holds, and how."""
    c: Any
    """Its C functions and structures, under llama.cpp's names."""

    def start(self) -> None:
        """Check that the bindings match the library, silence it and initialise it, once.

        Raises:
            ModelError: its structures have another layout.
        """
        ...

    def model_params(self, settings: WeightSettings) -> Any:
        """Return the C structure for loading weights.

        Raises:
            ModelError: the library does not support these settings.
        """
        ...

    def context_params(self, settings: ContextSettings) -> Any:
        """Return the C structure for making a context."""
        ...

    def refusal(self, header: Header) -> str | None:
        """Return why the library cannot run a file, before native code sees it, or None."""
        ...

    def heads(self, header: Header) -> HeadFunctions:
        """Return how the heads in a file are run.

        Raises:
            ModelError: there are none, or the library cannot run them.
        """
        ...

    def sliding_window(self, model: Any) -> int:
        """Return how many tokens back the cache of loaded weights reaches; 0 means all."""
        ...

    def holds_several_texts(self) -> bool:
        """Say whether texts side by side in one cache get the same logits as each alone."""
        ...

    def aborts_in_silence(self) -> bool:
        """Say whether an evaluation that was aborted is reported as a success."""
        ...

    def can_repack(self) -> bool:
        """Say whether weights can be rearranged for the processor's kernels."""
        ...

    def version(self) -> str:
        """Return the library's own version."""
        ...

    def build(self) -> str:
        """Return what identifies this build of the library."""
        ...

    def features(self) -> str:
        """Return the features of processor and backends that are compiled in, `NAME = 1 | ...`."""
        ...

    def devices(self) -> list[str]:
        """Return a line for each device it computes on."""
        ...

    def offloads_to_gpu(self) -> bool:
        """Say whether it can use a GPU."""
        ...


def files_of(folder: Path) -> str:
    """Return the size and the time of each file of a library: no two builds share them."""
    stamps = ((file.name, file.stat()) for file in sorted(folder.glob("*")) if file.is_file())
    return " ".join(f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in stamps)


def speed_key(library: Library, path: Path, gpu_layers: int | None) -> str:
    """Return as text what speed depends on: the file, the library and the machine.

    Raises:
        OSError: there is no such file.
    """
    status = path.stat()
    package = f"{library.PACKAGE.name} {package_version(library.PACKAGE.name)}"
    what = f"{package} {library.version()} {library.features().strip()}"
    file = f"{status.st_size} {status.st_mtime_ns}"
    return f"{file} | {what} | {', '.join(library.devices())} | gpu_layers={gpu_layers}"
