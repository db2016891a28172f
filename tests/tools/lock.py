"""The versions that were tested: `python -m tests.tools.lock` writes constraints.txt.

They are those of this environment: of what specchat and its tests require, and of what that
requires in turn. No address is in it, so whatever index is configured is asked.
"""

import tomllib
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from models.engines import PACKAGES
from tests import ROOT

FILE = ROOT / "constraints.txt"
HEAD = "# Written by: python -m tests.tools.lock\n# Used by: make, and pip install --constraint\n"
MORE = "# More, for llama.cpp and for the tests:\n"


def wanted(alone: bool = False) -> list[str]:
    """Requirements: all of them, or those that specchat has besides its engines."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    engines = {package.name for package in PACKAGES.values()}
    every = [*project["project"]["dependencies"], *extras["tools"]]
    own = [text for text in every if Requirement(text).name not in engines]
    return own if alone else [*own, *extras["llama"], *project["dependency-groups"]["dev"]]


def needed(alone: bool = False) -> dict[str, str]:
    """Versions by name of all that is required here, directly or not."""
    versions: dict[str, str] = {}
    waiting = [(Requirement(text), "") for text in wanted(alone)]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        known = name in versions
        versions[name] = package.version
        for each in ("", *requirement.extras) if not known else requirement.extras:
            waiting += [(Requirement(text), each) for text in package.requires or ()]
    return versions


def elsewhere() -> set[str]:
    """What only another system or another Python needs."""
    every = [*wanted(), *(text for name in needed() for text in distribution(name).requires or ())]
    return {canonicalize_name(Requirement(text).name) for text in every}


def read() -> dict[str, str]:
    """Versions by name, as they are locked."""
    lines = [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]
    return {name: version for name, _, version in (line.partition("==") for line in lines)}


def main() -> None:
    own, every = needed(alone=True), needed()
    rest = {name: version for name, version in every.items() if name not in own}
    FILE.write_text(HEAD + listed(own) + MORE + listed(rest))


def listed(versions: dict[str, str]) -> str:
    return "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))


if __name__ == "__main__":
    main()
