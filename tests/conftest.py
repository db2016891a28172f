"""Models for the tests: tiny random ones made on the spot, and real ones where a law needs them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from models.files.pull import pull
from models.llama.model import LlamaModel
from models.llama.weights import Weights
from tests import tiny

Open = Callable[..., LlamaModel]


@pytest.fixture(scope="session")
def tiny_target(tmp_path_factory) -> Path:
    """A random llama whose answers never end by themselves."""
    return tiny.write(tmp_path_factory.mktemp("tiny") / "target.gguf", seed=1, stops=False)


@pytest.fixture(scope="session")
def tiny_draft(tmp_path_factory) -> Path:
    """A model that resembles the tiny target."""
    path = tmp_path_factory.mktemp("tiny") / "draft.gguf"
    return tiny.write(path, seed=2, like=1, stops=False)


@pytest.fixture
def open_model() -> Iterator[Open]:
    """Open contexts on model files, and close everything at the end of the test."""
    with ExitStack() as stack:

        def open_(path: Path, **options: object) -> LlamaModel:
            weights = Weights(path)
            stack.callback(weights.close)
            model = LlamaModel(weights, **{"n_ctx": 1024, "threads": 1, **options})  # type: ignore[arg-type]
            stack.callback(model.close)
            return model

        yield open_


def _weights(name: str) -> Path:
    return pull(name)


@pytest.fixture(scope="session")
def smollm2() -> Path:
    return _weights("smollm2-135m")


@pytest.fixture(scope="session")
def gemma3() -> Path:
    return _weights("gemma-3-270m")


@pytest.fixture(scope="session")
def default_pair() -> tuple[Path, Path]:
    return _weights("qwen2.5-coder-1.5b"), _weights("qwen2.5-coder-0.5b")
