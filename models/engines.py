"""The engines that run GGUF files: their names, and the packages that bring them."""

from importlib.util import find_spec
from typing import Literal, NamedTuple

EngineName = Literal["llama", "ik"]


class Package(NamedTuple):
    """A Python package: its name, the module it provides, and the version supported here."""

    name: str
    module: str
    version: str

    @property
    def command(self) -> str:
        """What installs it."""
        return f"pip install {self.name}=={self.version}"

    @property
    def misfit(self) -> str:
        """The message if another version is installed, whose settings may have another layout."""
        return (
            f"specchat is made for {self.name} {self.version}, but the installed one lays out its "
            f"settings differently. Run: {self.command}"
        )


ENGINES: dict[EngineName, str] = {"llama": "llama.cpp", "ik": "ik_llama.cpp"}
"""The names of engines, by their names in options; the first is always installed."""
PACKAGES: dict[EngineName, Package] = {
    "llama": Package("llama-cpp-python", "llama_cpp", "0.3.36"),
    "ik": Package("ik-llama-cpp-python", "ik_llama_cpp", "0.1.5"),
}
"""The Python packages that provide them."""


def installed() -> list[EngineName]:
    """Return the installed engines without loading them."""
    return [name for name, package in PACKAGES.items() if find_spec(package.module)]
