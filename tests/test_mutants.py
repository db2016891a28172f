"""Every broken variant of the code makes the test fail that guards it.

`mutants.txt` lists them: what is wrong, the function, the test that must fail, and which of the
function's text is replaced by what. Where a function or a test is not named, it is the last one's;
`of` names the parameters of the test that are enough.
"""

import inspect
import pkgutil
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import pytest
from _pytest.config import _prepareconfig
from hypothesis import Phase, settings

# What a killed test left unfinished warns in a later one.
QUIET = ("-qs", "-Wignore", "--tb=native", "-otimeout=0", f"{__file__}::each_by_its_name")
NOT_NESTED = ("xdist", "cacheprovider", "faulthandler", "textual-snapshot", "syrupy")
# Any example that kills will do: a smaller one is not looked for.
settings.register_profile(
    "mutants", settings.get_profile("ours"), phases=(Phase.explicit, Phase.generate)
)
# Here llama.cpp and numpy notice before an assertion does.
CRASHES = {
    "leave rejected tokens in the cache": "ModelError",
    "fall off the end of the cumulative sum": "IndexError",
}


class Mutant(NamedTuple):
    """One change of one function, and the test that must fail with it."""

    name: str
    function: str
    killer: str
    old: str
    new: str

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Have whoever calls the function run the mutant."""
        function: FunctionType = pkgutil.resolve_name(self.function)
        original, function.__code__ = function.__code__, self._code(function)
        try:
            yield
        finally:
            function.__code__ = original

    def _code(self, function: FunctionType) -> CodeType:
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(self.old) == 1, f"not one place says {self.old!r}"
        names: dict[str, Any] = {}
        text = f"from __future__ import annotations\n{source.replace(self.old, self.new)}"
        exec(compile(text, f"<{self.name}>", "exec"), function.__globals__, names)
        changed = names[function.__name__]
        code: CodeType = getattr(changed, "__func__", changed).__code__
        return code


def mutants() -> Iterator[Mutant]:
    place = {"in ": "", "by ": ""}
    for block in Path(__file__).with_name("mutants.txt").read_text().split("\n\n"):
        name, *lines = block.splitlines()
        texts: dict[str, list[str]] = {"- ": [], "+ ": []}
        parameters = ""
        for line in lines:
            kind, text = line[:2], line[2:]
            if kind in texts:
                texts[kind].append(text)
            elif kind == "of":
                parameters = f"[{line[3:]}]"
            else:
                place[line[:3]] = line[3:]
        if lines:  # else a heading
            old, new = ("\n".join(text) for text in texts.values())
            yield Mutant(name, place["in "], place["by "] + parameters, old, new)


class Deaths:
    """Notes in which kinds of errors tests end."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> None:
        self.kinds += [call.excinfo.typename] if call.excinfo else []


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    """A session within this one, for all killers: to begin one takes longer than most of them."""
    where = f"--basetemp={tmp_path_factory.mktemp('killers')}/nested"
    config = _prepareconfig([*QUIET, where, *(f"-pno:{name}" for name in NOT_NESTED)])
    config._do_configure()
    session = pytest.Session.from_config(config)
    config.hook.pytest_sessionstart(session=session)
    yield session
    session.exitstatus = pytest.ExitCode.OK
    config.hook.pytest_sessionfinish(session=session, exitstatus=0)
    config._ensure_unconfigure()


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed(mutant, nested):
    deaths = Deaths()
    nested.config.pluginmanager.register(deaths)
    settings.load_profile("mutants")
    try:
        with mutant.alive():
            for killer in nested.perform_collect([mutant.killer]):
                if not deaths.kinds:
                    nested.config.hook.pytest_runtest_protocol(item=killer, nextitem=None)
    finally:
        settings.load_profile("ours")
        nested.config.pluginmanager.unregister(deaths)
    assert deaths.kinds in (["Failed"], [CRASHES.get(mutant.name, "AssertionError")])
