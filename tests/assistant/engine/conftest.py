from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest

from models.native.loaded import engine
from tests.assistant.engine.answering import assistant_of
from tests.conftest import Open


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[Any]]:
    """Note the calls of a C function in the list that is returned, and make them."""

    def noted(name: str) -> list[Any]:
        call = Mock(side_effect=getattr(engine().c, name))
        monkeypatch.setattr(engine().c, name, call)
        return call.mock_calls

    return noted


@pytest.fixture
def opened(open_model: Open) -> Callable[..., Any]:
    """Open an assistant on model files; see `assistant_of`."""
    return partial(assistant_of, open_model)
