"""The engines that run GGUF files: their names, and the packages that bring them."""

from importlib.util import find_spec
from typing import Literal, NamedTuple

EngineName = Literal["llama", "ik"]


class Package(NamedTuple):
    """A Python package: its name, the module it brings, and the version that is known here."""

    name: str
    module: str
    version: str

    @property
    def command(self) -> str:
        """What installs it."""
        return f"pip install {self.name}=={self.version}"

    @property
    def misfit(self) -> str:
        """What is said when another version is installed, which may lay out its settings anew."""
        return (
            f"specchat is made for {self.name} {self.version}, but the installed one lays out its "
            f"settings differently. Run: {self.command}"
        )


ENGINES: dict[EngineName, str] = {"llama": "llama.cpp", "ik": "ik_llama.cpp"}
"""What people call them, by the names that options have for them; the first is always there."""
PACKAGES: dict[EngineName, Package] = {
    "llama": Package("llama-cpp-python", "llama_cpp", "0.3.36"),
    "ik": Package("ik-llama-cpp-python", "ik_llama_cpp", "0.1.5"),
}
"""The Python packages that bring them."""


def installed() -> list[EngineName]:
    """Return the engines that are installed; nothing of them is loaded."""
    return [name for name, package in PACKAGES.items() if find_spec(package.module)]
