"""Models for the tests: tiny random ones made on the spot, and real ones where a law needs them."""

import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from models.files.pull import pull
from models.native import loaded
from models.native.model import NativeModel
from models.native.vocab import Vocab
from models.native.weights import Weights
from tests import environment, tiny
from tests.engine import ENGINE
from tests.patience import ALL

loaded.use(ENGINE)
# A shell that runs the tests in the background ignores these, and so would all they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# Many tests start processes: what these share is compiled once, not by each, nor by each run.
sys.dont_write_bytecode = False
# Which engine is faster with a tiny model is nobody's question, and seconds for each.
os.environ["SPECCHAT_ENGINE"] = ENGINE
# Threads wait for each other longer than they compute a tiny model; measuring that takes a second.
os.environ["SPECCHAT_THREADS"] = "1"
# No test of real weights starts a process that copies them and outlives it.
os.environ["SPECCHAT_COPIES"] = "false"
# The same prompts every day.
os.environ["SPECCHAT_DATE"] = "no"
Open = Callable[..., NativeModel]
NUMBERS = count()

# A day's run tries the same examples each time; a thorough one others than the last. How long an
# example takes says how busy the machine is.
settings.register_profile(
    "ours", derandomize=not ALL, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ours")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Function]) -> None:
    """Leave out what only a thorough run needs, unless it is asked for by its own name."""
    if ALL or any("::" in argument for argument in config.args):
        return
    sets: dict[str, list[pytest.Function]] = {}
    for item in items:
        sets.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = [item for each in sets.values() for item in enough(each)]
    left = {item.nodeid for item in kept}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in left])
    # in pytest's order, which makes a fixture of a parameter set once for all tests that share it
    items[:] = [item for item in items if item.nodeid in left]
    # Begun late, the longest would be all that is left to do, for one worker.
    items.sort(key=lambda item: "an_offered_key" not in item.name)


def pytest_collection_finish() -> None:
    """Look for garbage only in what tests make, not in all that was imported and collected."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Leave pytest, which looks for garbage five times when it ends, no more than once to do."""
    gc.collect()
    gc.freeze()


def enough(items: list[pytest.Function]) -> list[pytest.Function]:
    """Return those of a test's parameter sets that it says are enough, far from one another.

    Of those between two others, it is the one with the most values that none before it has.
    """
    items = [item for item in items if not item.get_closest_marker("thorough")]
    some = items[0].get_closest_marker("some") if items else None
    if some is None:
        return items
    count, chosen, seen = min(some.args[0], len(items)), [], set[str]()
    for i in range(count):
        near = items[i * len(items) // count : (i + 1) * len(items) // count]
        chosen.append(max(near, key=lambda item: len(values(item) - seen)))
        seen |= values(chosen[-1])
    return chosen


def values(item: pytest.Function) -> set[str]:
    return {f"{name}={value!r}" for name, value in item.callspec.params.items()}


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder of the test's own; pytest's own looks through those of all tests before it."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    path = tmp_path_factory.getbasetemp() / f"{name}_{next(NUMBERS)}"
    path.mkdir()
    return path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A home of the test's own: its settings and conversations are nobody else's.

    So are its models: to look through all that this machine has takes longer than most tests.
    """
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "home"))
    if not request.node.get_closest_marker("weights"):
        monkeypatch.setenv("SPECCHAT_MODELS", str(tmp_path / "models"))
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "home"


@pytest.fixture
def unset_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, without the settings that all other tests have in the environment."""
    home.mkdir()
    monkeypatch.delenv("SPECCHAT_ENGINE")
    monkeypatch.delenv("SPECCHAT_THREADS")
    return home


@pytest.fixture
def bare_machine(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any model, and without a connection; all it keeps is in one folder."""
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # the port that discards: closed
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return tmp_path


@pytest.fixture(scope="session")
def tiny_target(tmp_path_factory) -> Path:
    """A random llama whose answers never end by themselves."""
    return tiny.write(tmp_path_factory.mktemp("tiny") / "target.gguf", seed=1, stops=False)


@pytest.fixture(scope="session")
def tiny_draft(tmp_path_factory) -> Path:
    """A model that resembles the tiny target."""
    path = tmp_path_factory.mktemp("tiny") / "draft.gguf"
    return tiny.write(path, seed=2, like=1, stops=False)


@pytest.fixture(scope="session")
def thinking_target(tmp_path_factory) -> Path:
    """A model that thinks, and whose answers never end by themselves."""
    path = tmp_path_factory.mktemp("tiny") / "thinking.gguf"
    return tiny.write(path, template=tiny.THINKING, stops=False)


@pytest.fixture
def open_model() -> Iterator[Open]:
    """Open contexts on model files, and close everything at the end of the test."""
    with ExitStack() as stack:

        def open_(path: Path, **options: object) -> NativeModel:
            weights = Weights(path)
            stack.callback(weights.close)
            model = NativeModel(weights, **{"n_ctx": 1024, "threads": 1, **options})  # type: ignore[arg-type]
            stack.callback(model.close)
            return model

        yield open_


@pytest.fixture
def open_tiny(open_model: Open, tmp_path: Path) -> Open:
    """Open contexts on tiny models; all of a kind are on one file."""

    def open_(kind: str = "llama", **options: object) -> NativeModel:
        path = tmp_path / f"{kind}.gguf"
        return open_model(path if path.exists() else tiny.write(path, kind, seed=3), **options)

    return open_


@pytest.fixture(scope="session")
def smollm2() -> Path:
    return pulled("smollm2-135m")


@pytest.fixture(scope="session")
def gemma3() -> Path:
    return pulled("gemma-3-270m")


@pytest.fixture(scope="session")
def default_pair() -> tuple[Path, Path]:
    return pulled("qwen2.5-coder-1.5b"), pulled("qwen2.5-coder-0.5b")


def pulled(name: str) -> Path:
    """Fetch real weights as the user who runs the tests would."""
    with environment.shell():
        return pull(name)


@pytest.fixture
def tiny_vocab(tiny_target: Path) -> Iterator[Vocab]:
    with closing(Weights(tiny_target)) as weights:
        yield weights.vocab


@pytest.fixture(scope="session", params=["smollm2", "gemma3", "default_pair"])
def real_vocab(request: pytest.FixtureRequest) -> Iterator[Vocab]:
    """The vocabulary of each real model, of the pair's target."""
    found = request.getfixturevalue(request.param)
    path = found if isinstance(found, Path) else found[0]
    with closing(Weights(path)) as weights:
        yield weights.vocab
