from collections.abc import Callable
from typing import Any

import pytest

from models.native.loaded import engine


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
