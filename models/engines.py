"""The engines that run GGUF files: their names, and the packages that bring them."""

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

EngineName = Literal["llama", "ik"]


class Package(NamedTuple):
    """A Python package: its name, the module it provides, and the version supported here."""

    name: str
    module: str
    version: str

    @property
    def command(self) -> str:
        """The command that installs it."""
        return install_command(f"{self.name}=={self.version}")

    @property
    def reinstall(self) -> str:
        """The command that installs it again, not from a cache."""
        return f"{self.command} --force-reinstall --no-cache-dir"

    @property
    def folder(self) -> Path:
        """Where the installed package is. It is not imported, which would load the library."""
        spec = find_spec(self.module)
        assert spec
        return Path(str(spec.origin)).parent

    @property
    def mismatch(self) -> str:
        """The message if another version is installed, whose structures may differ."""
        return (
            f"specchat needs {self.name} {self.version}, and the installed version does not match. "
            f"Run: {self.command}"
        )


ENGINES: dict[EngineName, str] = {"llama": "llama.cpp", "ik": "ik_llama.cpp"}
"""The names of engines, by their names in options; one of them is enough."""
PACKAGES: dict[EngineName, Package] = {
    "llama": Package("llama-cpp-python", "llama_cpp", "0.3.36"),
    "ik": Package("ik-llama-cpp-python", "ik_llama_cpp", "0.1.5"),
}
"""The Python packages that provide them."""
WITHOUT_GPU = {"base", "cpu", "blas", "rpc"}
"""Parts of llama.cpp that are libraries of their own; every other one is for some kind of GPU."""
_MAKEFILE = Path(__file__).parents[1] / "Makefile"


def missing_message(name: EngineName) -> str:
    """Return a message that an engine is not installed, with the command that installs it."""
    return f"{ENGINES[name]} is not installed. Install it with: {how_to_install(name)}"


def how_to_install(name: EngineName) -> str:
    """Return the command that installs an engine where this specchat is."""
    if name == "llama" and _MAKEFILE.exists():
        return f"make -C {shlex.quote(str(_MAKEFILE.parent))} llama"
    return PACKAGES[name].command


def install_command(*arguments: str) -> str:
    """Return the command that installs a package where this specchat is."""
    python, install = sys.executable, ["pip", "install", *arguments]
    # An environment that uv made has no pip.
    uv = ["uv", *install, "--python", python] if find_spec("pip") is None else None
    return shlex.join(uv or [python, "-m", *install])


def llama_hint() -> str:
    """Return a hint to install llama.cpp, for a file that was refused; empty if it is installed."""
    return "" if "llama" in installed() else f" {missing_message('llama')}"


def installed() -> list[EngineName]:
    """Return the installed engines without loading them."""
    return [name for name, package in PACKAGES.items() if find_spec(package.module)]


def llama_uses_gpu() -> bool:
    """Return whether the installed llama.cpp was built for a GPU, without loading it."""
    if "llama" not in installed():
        return False
    libraries = (PACKAGES["llama"].folder / "lib").glob("*ggml-*")
    backends = {path.name.partition("ggml-")[2].split(".")[0].split("-")[0] for path in libraries}
    return bool(backends - WITHOUT_GPU)


def default_engine() -> EngineName:
    """Return the default engine: llama.cpp, unless only ik_llama.cpp is installed."""
    return "ik" if installed() == ["ik"] else "llama"
