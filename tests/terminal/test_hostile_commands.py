"""The output of commands holds no control sequence of a model, a file or a stored chat.

Their standard output and error are a terminal; with --json, too.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from assistant.store.store import Store
from tests import tiny
from tests.hostile_texts import leaks, quoted, share, valid
from tests.patience import ALL
from tests.stored import ask, begin, end
from tests.terminal.recording import run, run_each
from tests.terminal.terminal import TINY

JSON = [[], ["--json"]]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [valid(text) for text in share(50)]


@pytest.fixture(scope="module")
def pair(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A target and a draft whose tokens are the texts, named and described by some of them."""
    folder = tmp_path_factory.mktemp("pair")
    words = tuple(dict.fromkeys(texts))
    names = [folder / f"target {texts[1][:20]}.gguf", folder / f"draft {texts[2][:20]}.gguf"]
    tiny.write(names[0], words=words, stops=False, n_ctx=8192, name=texts[0])
    tiny.write(names[1], words=words, seed=1, like=0, stops=False, n_ctx=8192, name=texts[3])
    return ["--target", str(names[0]), "--draft", str(names[1]), "--temperature", "14", *TINY]


def harmless(home: Path, *commands: Sequence[str], fails: bool = False, says: str = "q") -> None:
    for code, seen in run_each(home, commands):
        assert seen
        assert code == 0 or fails, seen[-2000:]
        assert leaks(seen, spins=True) == []
        assert says in seen.decode()


@pytest.mark.parametrize("form", JSON, ids=str)
def test_answers_command_no_terminal(tmp_path: Path, pair: list[str], texts: list[str], form):
    given = [texts[5].replace("\0", ""), *pair, "--ctx", "8192", *form]
    harmless(tmp_path, ["ask", *given, "--max-tokens", str(len(texts))])
    race = ["race", *given, "--max-tokens", "100", "--lanes", "ars,sps=2"]
    harmless(tmp_path, race, says="tokens")


def test_stored_chats_in_a_shell_command_no_terminal(tmp_path: Path, texts: list[str]) -> None:
    with closing(Store(tmp_path / "home" / "chats.db")) as store:
        for text in texts:
            number = store.create(title=text, system=text)
            question = ask(store, number, None, f"needle {text}")
            end(store, begin(store, number, question.id, text).id, text)
            store.rename(number, text)
    lists = [["list"], ["search", "needle"]]
    commands = [[*command, *form, "--limit", "5000"] for command in lists for form in JSON]
    commands += [["export", "--format", kind, "--all"] for kind in ("md", "jsonl")]
    commands += [["show", str(number)] for number in range(1, 6)]
    harmless(tmp_path, *(["chats", *command] for command in commands))


def test_model_files_in_a_shell_command_no_terminal(tmp_path: Path, texts: list[str]) -> None:
    folder = tmp_path / "models"
    count = 40 if ALL else 12
    for number, text in enumerate(texts[:count]):
        called = text.replace("/", "").replace("\0", "").encode()[:80].decode("utf-8", "ignore")
        if number % 4 == 3:
            (folder / f"{called}.gguf").write_bytes(text.encode())
        else:
            template = tiny.TEMPLATE + "{# " + text.replace("#}", "") + " #}"
            tiny.write(folder / f"{called}.gguf", name=text, template=template)
    for command in (["list"], ["list", "--json"], ["check"]):
        _, seen = run(tmp_path, "models", *command)
        assert leaks(seen, spins=True) == []
        assert seen.count(b"q") > count * 3 // 4
    of_one = (["show"], ["show", "--json"], ["show", "--template"], ["pair"])
    paths = sorted(folder.iterdir())[:: 4 if ALL else 6]
    commands = [["models", *command, str(path)] for path in paths for command in of_one]
    harmless(tmp_path, *commands, fails=True, says="")


def test_settings_in_a_shell_command_no_terminal(tmp_path: Path, texts: list[str]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    lines = [f"system = {quoted(''.join(texts[:50]))}", f"{quoted(texts[0])} = 1"]
    (home / "config.toml").write_text("\n".join(lines))
    config = [["config", "show"], ["config", "show", "--json"]]
    harmless(tmp_path, *config, ["doctor"], fails=True, says="")
