import pytest

from tests import tiny

HOT = ["--temperature", "14"]  # or a tiny model says one byte forever
WARM = ["--temperature", "3"]  # hotter, and it ends by itself


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The arguments that name a target and a draft, neither of which ends by itself."""
    folder = tmp_path_factory.mktemp("models")
    target = tiny.write(folder / "target.gguf", seed=0, stops=False)
    draft = tiny.write(folder / "draft.gguf", seed=1, like=0, noise=1.0, stops=False)
    return ["--target", str(target), "--draft", str(draft), "--ctx", "1024", *HOT]


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The arguments for a target whose answer takes many seconds."""
    path = tmp_path_factory.mktemp("models") / "slow.gguf"
    tiny.write(path, n_ctx=8192, layers=48, stops=False)
    return ["--target", str(path), "--draft", "none", "--ctx", "8192", *WARM]
