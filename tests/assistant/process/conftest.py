from pathlib import Path

import pytest

from assistant.request import Setup
from tests import tiny


@pytest.fixture
def setup(tiny_target: Path, tiny_draft: Path) -> Setup:
    return Setup(tiny_target, tiny_draft, n_ctx=1024, threads=1)


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    """A model that takes seconds to fill its context."""
    path = tmp_path_factory.mktemp("tiny") / "slow.gguf"
    tiny.write(path, n_ctx=8192, layers=24, stops=False)
    return Setup(path, None, n_ctx=8192, threads=1)
