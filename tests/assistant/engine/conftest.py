from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from models.native.loaded import engine
from tests.assistant.engine.answering import assistant_of
from tests.conftest import Open


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Note the calls of a C function in the list that is returned, and make them."""

    def noted(name: str) -> list[str]:
        made, c = list[str](), engine().c
        original = getattr(c, name)

        def call(*given: Any) -> Any:
            made.append(name)
            return original(*given)

        monkeypatch.setattr(c, name, call)
        return made

    return noted


@pytest.fixture
def opened(open_model: Open) -> Callable[..., Any]:
    """Open an assistant on model files; see `assistant_of`."""
    return partial(assistant_of, open_model)
