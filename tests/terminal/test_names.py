"""Files with any name work, and are shown by a safe one."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path

import openai
import pytest

from assistant.store.store import Store
from models import engines
from models.errors import well_formed
from tests import tiny
from tests.hostile_texts import leaks
from tests.patience import ALL
from tests.terminal.recording import Recording, run_each
from tests.terminal.terminal import ESCAPE, TINY, F, shell
from tests.tui.shell.serving import complete, serving

pytestmark = [
    pytest.mark.skipif(sys.platform == "darwin", reason="its names are all UTF-8"),
    pytest.mark.some(3),
]
NAMES = (b"caf\xe9", b"\xff\xfe", b"\xed\xa0\x80x", b"\xf0\x9f\x92", b"\x9b7741m", b"\xc3(")
"""None is UTF-8: bytes of other encodings, halves of characters, of pairs and of commands."""
ENGINES = ("auto", *engines.installed())
CASES = list(zip(NAMES, cycle(ENGINES), strict=False))


@pytest.fixture(scope="module", params=CASES, ids=repr)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> "Place":
    name, engine = request.param
    return Place(tmp_path_factory.mktemp("names"), os.fsdecode(name), engine)


class Place:
    """A folder in which everything is called so: models, texts, and where specchat keeps things."""

    def __init__(self, beside: Path, name: str, engine: str) -> None:
        self.shown, self.engine, self.folder = well_formed(name), engine, beside / name
        models, texts = self.folder / "models", self.folder / "texts"
        for folder in (self.folder / "home", models, texts):
            folder.mkdir(parents=True)
        self.target, self.draft, self.hybrid, self.broken, self.missing = (
            models / f"{name} {role}.gguf"
            for role in ("target", "draft", "hybrid", "broken", "missing")
        )
        tiny.write(beside / "t", n_ctx=8192, seed=0, stops=False).rename(self.target)
        tiny.write(beside / "d", n_ctx=8192, seed=1, like=0, stops=False).rename(self.draft)
        tiny.write(beside / "h", kind="lfm2", stops=False).rename(self.hybrid)
        self.broken.write_bytes(b"GGUF?")
        self.text = texts / f"{name}.txt"
        self.text.write_text("needle")
        self.few = ["--ctx", "8000", "--temperature", "14", "--max-tokens", "4", *TINY]
        self.few += ["--engine", engine]
        self.pair = ["--target", str(self.target), "--draft", str(self.draft), *self.few]

    def commands(self) -> Iterator[tuple[int, list[object]]]:
        """Yield commands that take or show a path, each with its exit code."""
        few, pair = self.few, self.pair
        for form in ([], ["--json"]):
            yield 0, ["ask", "Hi", "-f", self.text, *pair, *form, "--chat", "new"]
            yield 0, ["race", "Hi", *pair, *form]
            yield 0, ["models", "list", *form]
            yield 0, ["models", "show", self.target, *form]
            yield 3, ["models", "show", self.broken, *form]
            yield 0, ["models", "pair", self.target, *form]
            yield 3, ["doctor", *form]  # the usual models are not here
            yield 0, ["config", "show", *form]
        yield 0, ["config", "path"]
        yield 0, ["models", "check", self.target]
        yield 3, ["models", "check", self.missing]
        yield 2, ["ask", "Hi", "--schema", self.text, *pair]
        yield 2, ["ask", "Hi", "-f", self.folder / "none", *pair]
        yield 3, ["ask", "Hi", "--target", self.broken, *few]
        yield 3, ["ask", "Hi", "--target", self.missing, *few]
        yield 0, ["ask", "Hi", "--target", self.target, "--draft", self.broken, *few]
        yield 3 * (self.engine == "ik"), ["ask", "Hi", "--target", self.hybrid, *few]
        yield 3, ["prove", "--target", self.missing, *few]
        yield 0, ["chats", "show", "1"]
        yield 4, ["chats", "import", self.text]
        yield 4, ["chats", "export", "1", "-o", self.text / "none"]
        if ALL:  # for half a minute
            yield 0, ["prove", "--target", self.target, "--draft", "none", *few]


def test_commands_show_it_and_end_as_with_any_name(place: Place) -> None:
    codes, given = zip(*place.commands(), strict=True)
    commands = [list(map(str, command)) for command in given]
    ends = run_each(place.folder, commands)
    for code, command, (ended, seen) in zip(codes, commands, ends, strict=True):
        assert (ended, leaks(seen, spins=True)) == (code, []), (command, seen)
        *_, last = seen.split(b"\x1b[?25h")  # after what was spinning
        is_json = code in (0, 3) and "--json" in command and last.startswith((b"{", b"["))
        said = json.dumps(json.loads(last), ensure_ascii=False) if is_json else seen.decode()
        if code or is_json or command[0] not in ("ask", "race"):  # which name it while they load
            assert place.shown in well_formed(said), (command, said)
        if is_json and str(place.target) in command:  # as it is, so that a script can open it
            assert str(place.target) in said


def test_a_conversation_about_a_file_of_any_name_is_exported_and_imported(place: Place) -> None:
    home = place.text.with_suffix(".home")
    kept = [f"{place.text}.md", f"{place.text}.jsonl"]
    commands = [
        ["ask", "Hi", "-f", str(place.text), *place.pair, "--chat", "new"],
        ["chats", "export", "--all", "--format", "md", "-o", kept[0]],
        ["chats", "export", "--all", "--format", "jsonl", "-o", kept[1]],
        ["chats", "delete", "1", "--yes"],
        ["chats", "import", kept[1]],
    ]
    assert [code for code, _ in run_each(home, commands)] == [0] * len(commands)
    assert f"{place.shown} target" in Path(kept[0]).read_text("utf-8")
    with closing(Store(home / "home" / "chats.db")) as store:
        ((question, answer),) = (store.path(chat.id) for chat in store.summaries())
    (attached,) = question.attachments
    assert attached.title == well_formed(str(place.text))
    assert answer.model == f"{place.shown} target"


def test_the_chat_shows_it_and_attaches_it(place: Place) -> None:
    cwd, role = place.text.parent, place.shown + " {}"
    with Recording(place.folder, *place.pair, site="", size=(160, 50), cwd=cwd) as terminal:
        terminal.shows("ready", role.format("target"), role.format("draft"))
        terminal.go("@", f"{place.shown}.txt")
        terminal.go("\tHi\r", " tokens · ", f"{place.shown}.txt")
        terminal.go("Race" + F[4], "without guesses", role.format("target"))
        terminal.go(ESCAPE)
        terminal.go(F[5], "Models", *map(role.format, ("target", "hybrid", "broken")))
        terminal.go(ESCAPE)
        terminal.go(F[6], "Settings", f"{place.shown}/home/config.toml")
        terminal.go(ESCAPE)
        terminal.go(F[2], "day")
        terminal.go("\x18", "Export into this folder", place.shown)
        terminal.go("\r", "Written to")


def test_it_is_served_under_the_name_that_is_shown(place: Place) -> None:
    with serving(*place.pair[:4], "--engine", place.engine, env=shell(place.folder)) as (_, url):
        (model,) = openai.OpenAI(base_url=url, api_key="none").models.list()
        assert model.id == f"{place.shown} target"
        assert complete(url, model.id).usage.completion_tokens == 5
