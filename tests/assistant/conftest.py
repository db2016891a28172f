"""A fast pair of models, and a target that needs seconds to fill its context."""

from pathlib import Path

import pytest

from assistant.request import EngineArgs
from tests import tiny


@pytest.fixture
def setup(tiny_target: Path, tiny_draft: Path) -> EngineArgs:
    return EngineArgs(tiny_target, tiny_draft, n_ctx=1024, threads=1)


@pytest.fixture(scope="session")
def slow_target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that takes seconds to fill its context."""
    path = tmp_path_factory.mktemp("tiny") / "slow.gguf"
    return tiny.write(path, n_ctx=8192, layers=24, stops=False)


@pytest.fixture(scope="session")
def slow(slow_target: Path) -> EngineArgs:
    return EngineArgs(slow_target, None, n_ctx=8192, threads=1)
