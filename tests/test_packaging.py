"""The source archive and the wheel: their content, requirements, and installation."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from models.engines import PACKAGES, EngineName
from tests import ROOT, tiny
from tests.patience import WAIT_S
from tests.tools import lock

SECOND_ENGINE = ROOT / "requirements-ik.txt"
BUILD = "import sys; from hatchling import build; print(getattr(build, sys.argv[1])(sys.argv[2]))"


def build(what: str, source: Path, into: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-c", BUILD, what, str(into)],
        cwd=source, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return into / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    return build("build_sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory) -> Path:
    """A wheel built from the unpacked source archive, as an installer does it."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from 3.11.4 on
        archive.extractall(folder)
    (source,) = folder.iterdir()
    return build("build_wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and the libraries of this one; not what is edited here."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, symlinks=True, with_pip=False)
    (packages,) = place.glob("lib/python*/site-packages")
    # Of a folder named like this the packages are seen, but its own .pth files are not obeyed.
    (packages / "libraries.pth").write_text(sysconfig.get_paths()["purelib"])
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install"]
    subprocess.run(
        [*pip, "--quiet", "--no-index", "--no-deps", "--force-reinstall", str(wheel)], check=True
    )
    return place


def printed(installed: Path, program: str, *arguments: object, **environment: str) -> str:
    """Return what a program of the environment prints."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(installed / "bin" / program), *map(str, arguments)],
        cwd=installed, env={**plain, **environment}, capture_output=True, text=True, timeout=WAIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_holds_the_three_packages_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    ours = {
        path.relative_to(ROOT).as_posix()
        for package in ("assistant", "models", "tui")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    rest = {name for name in names if ".dist-info/" not in name and ".data/" not in name}
    assert rest == ours
    assert [name for name in names if name.endswith("share/man/man1/specchat.1")]
    assert [name for name in names if name.endswith("licenses/LICENSE")]


def test_the_source_has_what_a_test_needs(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {
        "pyproject.toml", "README.md", "Makefile", "models/set_up/ik_llama_cpp.cmake",
        "models/set_up/llama_cpp.cmake", "tests/conftest.py", "docs/specchat.1",
    }  # fmt: skip
    assert needed <= names
    assert not [name for name in names if name.startswith((".ci", ".venv"))]


LINUX, MAC = ("linux", "x86_64"), ("darwin", "arm64")


@pytest.mark.parametrize(
    ("system", "version", "engine"),
    [
        *((LINUX, version, "ik") for version in ("3.11", "3.12", "3.13")),
        (("linux", "aarch64"), "3.12", "ik"),
        (MAC, "3.13", "llama"),
        (LINUX, "3.14", "llama"),
        (("linux", "riscv64"), "3.12", "llama"),
        (("darwin", "x86_64"), "3.12", "llama"),
    ],
)
def test_a_wheel_requires_one_engine_that_needs_no_compiler(
    wheel: Path, system: tuple[str, str], version: str, engine: EngineName
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        metadata = archive.read(name).decode()
    texts = re.findall("^Requires-Dist: (.*)", metadata, re.MULTILINE)
    place = {"sys_platform": system[0], "platform_machine": system[1], "python_version": version}
    there = {**place, "platform_python_implementation": "CPython", "extra": ""}
    required = {
        requirement.name
        for requirement in map(Requirement, texts)
        if not requirement.marker or requirement.marker.evaluate(there)
    }
    engines = {package.name: engine for engine, package in PACKAGES.items()}
    assert [engines[name] for name in required & engines.keys()] == [engine]


def test_the_installed_wheel_runs_and_is_the_one_that_was_built(installed, tmp_path):
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert printed(installed, "specchat", "--version") == f"specchat, version {version}\n"
    where = "import tui, assistant, models\nprint(*(m.__file__ for m in (tui, assistant, models)))"
    paths = printed(installed, "python", "-c", where).split()
    assert all(path.startswith(str(installed)) for path in paths)
    target = tiny.write(tmp_path / "target.gguf", stops=False)
    ask = ["ask", "Hello", "--threads", "1", "--max-tokens", "3", "--ctx", "512", "--json"]
    home = str(tmp_path / "home")
    answer = printed(installed, "specchat", *ask, "--target", target, SPECCHAT_HOME=home)
    assert '"generated_tokens":3' in answer.replace(" ", "")


def test_the_lock_names_all_required_libraries_no_more_and_no_url():
    """Each library that specchat or its tests need, and each that those need, at one version."""
    assert not re.search("://| @ ", lock.FILE.read_text())
    locked = lock.read()
    needed = lock.needed()
    assert needed.keys() <= locked.keys(), "write it anew: python -m tests.tools.lock"
    assert locked.keys() <= needed.keys() | lock.elsewhere()
    for text in requires("specchat") or ():
        requirement = Requirement(text)
        if requirement.name == PACKAGES["ik"].name:  # it has a list of its own, with checksums
            assert f"{requirement.name}{requirement.specifier} \\\n" in SECOND_ENGINE.read_text()
            continue
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)])
