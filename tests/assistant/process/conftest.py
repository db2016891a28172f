"""A pair with so long a context that an answer of LONG tokens outlasts its test."""

from pathlib import Path

import pytest

from assistant.request import EngineArgs
from tests import tiny
from tests.assistant.process.event_log import LONG

N_CTX = LONG + 2000


@pytest.fixture(scope="session")
def endless(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("endless")
    target = tiny.write(folder / "target.gguf", seed=1, n_ctx=N_CTX, layers=4, stops=False)
    return target, tiny.write(folder / "draft.gguf", seed=2, like=1, n_ctx=N_CTX, stops=False)


@pytest.fixture
def setup(endless: tuple[Path, Path]) -> EngineArgs:
    return EngineArgs(*endless, n_ctx=N_CTX, threads=1)
