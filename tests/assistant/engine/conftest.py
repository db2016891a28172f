from collections.abc import Callable
from typing import Any

import llama_cpp.llama_cpp as llama
import pytest


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Note the calls of a function of llama.cpp in the list that is returned, and make them."""

    def noted(name: str) -> list[str]:
        made, original = list[str](), getattr(llama, name)

        def call(*given: Any) -> Any:
            made.append(name)
            return original(*given)

        monkeypatch.setattr(llama, name, call)
        return made

    return noted
