"""A broken variant of the shipped code: a small change of source text, compiled in place.

Whoever calls the function runs the mutant.
"""

import inspect
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

import pytest
from hypothesis import Phase, settings

# Any example that kills will do: a smaller one is not looked for.
FOUND = (Phase.explicit, Phase.generate)
settings.register_profile("mutants", settings.get_profile("ours"), phases=FOUND)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one function, and the test that must fail with it."""

    name: str
    function: Callable[..., Any]
    old: str
    new: str
    killed_by: Callable[..., Any]

    @contextmanager
    def alive(self) -> Iterator[None]:
        function = cast(FunctionType, self.function)
        original = function.__code__
        function.__code__ = self._code(function)
        try:
            yield
        finally:
            function.__code__ = original

    def _code(self, function: FunctionType) -> CodeType:
        source = textwrap.dedent(inspect.getsource(function))
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: not one place says {self.old!r}")
        names: dict[str, Any] = {}
        text = f"from __future__ import annotations\n{source.replace(self.old, self.new)}"
        exec(compile(text, f"<{self.name}>", "exec"), function.__globals__, names)
        changed = names[function.__name__]
        return cast(FunctionType, getattr(changed, "__func__", changed)).__code__

    def death(self) -> str | None:
        """Return how the test ends with the mutant alive; None if it does not notice."""
        settings.load_profile("mutants")
        try:
            with self.alive(), tempfile.TemporaryDirectory() as folder:
                return failure(self.killed_by, Path(folder))
        finally:
            settings.load_profile("ours")

    @property
    def test(self) -> str:
        """The name of the test that is there for it."""
        if isinstance(self.killed_by, partial):
            return str(self.killed_by.func.__name__)
        return str(self.killed_by.__name__)


def failure(test: Callable[..., Any], folder: Path) -> str | None:
    """Run a test; return the kind of error it ends in, if it does."""
    wanted = inspect.signature(test).parameters
    try:
        test(**({"tmp_path": folder} if "tmp_path" in wanted else {}))
    except (Exception, pytest.fail.Exception) as error:
        return type(error).__name__
    return None
