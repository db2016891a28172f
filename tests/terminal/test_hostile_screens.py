"""The screens write no control sequence of a model, a file, a stored chat or a paste.

Every test shows hostile texts on some surfaces of the real app and looks at every byte it wrote.
SPECCHAT_TEST_ALL=1 takes all two thousand everywhere.
"""

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from assistant.events import Alternative, Origin, RejectedToken, Step, Token, Trace
from assistant.session.unsent_text import OPEN
from assistant.store.store import Store
from assistant.store.values import Attachment
from tests import tiny
from tests.hostile_texts import MARK, batches, leaks, quoted, share, valid
from tests.patience import ALL
from tests.stored import ask, begin, end
from tests.terminal.recording import CONTROL_HOME, CONTROL_UP, DOWN, UNGUARDED, Recording
from tests.terminal.terminal import ESCAPE, F

pytestmark = [pytest.mark.timeout(7200)] if ALL else []
SEEN = 0.8
"""The share of the texts whose beginning must have been painted, or nothing was tested."""
TAG = re.compile(r"q\d+")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path


@pytest.fixture
def store(home: Path) -> Store:
    return Store(home / "home" / "chats.db")


def settings(home: Path, **values: object) -> None:
    lines = [f"{name} = {quoted(value)}" for name, value in values.items()]
    (home / "home" / "config.toml").write_text("\n".join(lines))


def conversation(store: Store, texts: Sequence[str]) -> int:
    """Keep turns that hold the texts, and return to them at the next start."""
    number, parent, dice = store.create(title="open"), None, random.Random(1)
    for batch in batches([valid(text) for text in texts], 15):
        text = "\n".join(batch)
        files = [Attachment(text[:60], text)]
        parent = ask(store, number, parent, text[:2900], files).id
        answer = begin(store, number, parent, batch[0])
        trace = told(text, dice)
        parent = end(store, answer.id, text, trace, stop="stop-token").id
    store.remember(OPEN, str(number))
    return number


def told(text: str, dice: random.Random) -> Trace:
    """Return rounds that say the text in pieces cut anywhere, every sequence split somewhere."""
    steps, at = [], 0
    while at < len(text):
        piece = text[at : at + dice.choice([1, 1, 2, 3, 5])]
        origin = dice.choice(list(Origin))
        top = (Alternative(1, piece[::-1], 0.5), Alternative(2, f"\x1b[{MARK}m", 0.2))
        token = Token(0, piece, origin, "model", 0.5, 0.5, 0, 0.1, top, top)
        thrown = text[max(0, at - 12) : at + 3]
        ghost = RejectedToken(3, thrown, "model", 0, 0.5, 0.1, 0.9)
        steps.append(Step((token,), (ghost,) if origin is Origin.RESIDUAL else ()))
        at += len(piece)
    return tuple(steps)


def pages(terminal: Recording, keys: str, limit: int) -> str:
    """Press a key until it changes nothing any more; return all that was painted."""
    painted = []
    for _ in range(limit):
        painted.append(terminal.go(keys, quiet=0.15))
        if len(painted[-1]) < 40:
            break
    return "".join(painted)


def painted_of(painted: str, texts: Sequence[str]) -> float:
    """Return the share of the texts whose beginning was painted."""
    shown = set(TAG.findall(painted))
    return sum(TAG.findall(text)[0] in shown for text in texts) / len(texts)


@pytest.mark.parametrize("colours", [True, False])
def test_turns_command_no_terminal(tmp_path: Path, models: list[str], colours: bool) -> None:
    for number, texts in enumerate(batches(share(20), 100)):
        home = tmp_path / str(number)
        store = Store(home / "home" / "chats.db")
        conversation(store, texts)
        store.close()
        settings(home, colours=colours, ghosts=True)
        with Recording(home, *models) as terminal:
            terminal.shows("ready")
            terminal.until(TAG.search)  # the conversation may come after the models
            terminal.settle()
            painted = terminal.text  # all there is, where it fits the screen
            painted += terminal.go(CONTROL_HOME) + pages(terminal, DOWN, 600)
            assert painted_of(painted, texts) > SEEN
            terminal.go(CONTROL_UP)
            terminal.go("i", "Tokens of")
            for _ in range(30 if ALL else 8):
                terminal.go("\x1b[C", quiet=0.05)
            pages(terminal, DOWN, 100)
            terminal.go(ESCAPE)


def test_hostile_texts_reach_the_terminal_raw(home: Path, store: Store, models: list[str]) -> None:
    """The test is tested: all that it looks for is found when nothing is made safe."""
    conversation(store, share(40, whole=40))
    store.close()
    careless = "import tui.safe\ntui.safe.safe = lambda text: text\n"
    with Recording(home, *models, site=careless + UNGUARDED) as terminal:
        terminal.shows("ready")
        terminal.go(CONTROL_HOME)
        terminal.close()
    found = leaks(terminal.seen)
    assert any(MARK in leak for leak in found)
    assert len(found) > 100


def test_listed_chats_command_no_terminal(home: Path, store: Store, models: list[str]) -> None:
    texts = share(20)
    for text in texts:
        number = store.create(title=text)
        store.rename(number, text)
        ask(store, number, None, f"needle {text}")
    store.close()
    with Recording(home, *models) as terminal:
        terminal.shows("ready")
        painted = terminal.go(F[2], "day") + pages(terminal, DOWN, 200)
        hits = terminal.go("needle", quiet=0.4) + terminal.go("\x1b[B")
        hits += pages(terminal, DOWN, 200)
        assert painted_of(painted, texts) > SEEN
        assert "needle" in hits


def test_files_to_attach_command_no_terminal(home: Path, models: list[str]) -> None:
    folder = home / "files"
    folder.mkdir()
    texts = [name(text) for text in share(80)]
    attached = texts[10 : 310 if ALL else 15]  # whose tags begin no other's
    for number, text in enumerate(texts):
        (folder / text).write_bytes(b"\0binary" if number % 2 else f"text {text}".encode())
    with Recording(home, *models, size=(240, 60)) as terminal:
        terminal.shows("ready")
        painted = []
        for text in attached:
            painted.append(terminal.go(f"@{folder}/{TAG.findall(text)[0]}", quiet=0.3))
            painted.append(terminal.go("\t", quiet=0.3))
            terminal.go("\x15\x0b", quiet=0.05)
        everything = "".join(painted)
        assert painted_of(everything, attached) > SEEN
        assert "not text" in everything
        terminal.go("\x0c", "Attached")
        pages(terminal, "\x1b[B", 30)
        terminal.go(ESCAPE)


def name(text: str) -> str:
    """Return the text as a file may be called."""
    text = valid(text).replace("/", "∕").replace("\0", "\x01").replace(" ", "_").replace("\t", "_")
    return text.replace("\n", "_").encode()[:80].decode("utf-8", "ignore")


def test_the_models_screen_commands_no_terminal(home: Path) -> None:
    texts = share(10, whole=200)
    folder = home / "models"
    for number, text in enumerate(texts):
        tiny.write(folder / f"{name(text)[:60]}.gguf", seed=number, name=valid(text), stops=False)
    chosen = folder / f"{name(texts[1])[:60]}.gguf"
    with Recording(home, "--target", str(chosen), "--draft", "none", "--ctx", "1024") as terminal:
        terminal.shows("ready")
        painted = terminal.go(F[5], "Models")
        for _ in range(len(texts) + 10):
            painted += terminal.go("\x1b[B", quiet=0.05)
        assert painted_of(painted, texts) > SEEN
        terminal.go(ESCAPE)
        terminal.go(F[3])


def test_the_text_of_a_model_commands_no_terminal(home: Path) -> None:
    """Its tokens are the texts whole and in halves, so that sequences come in parts, too."""
    texts = [valid(text) for text in share(20)]
    cuts = ((text, len(text) // 2) for text in texts[::3])
    halves = [half for text, middle in cuts for half in (text[:middle], text[middle:])]
    words = tuple(dict.fromkeys(word for word in texts + halves if len(word) > 1))
    target = tiny.write(home / "t.gguf", words=words, stops=False, n_ctx=8192)
    draft = tiny.write(home / "d.gguf", words=words, seed=1, like=0, stops=False, n_ctx=8192)
    pair = ["--target", str(target), "--draft", str(draft), "--ctx", "8192", "--temperature", "14"]
    settings(home, ghosts=True)
    with Recording(home, *pair, "--max-tokens", "1000" if ALL else "150") as terminal:
        terminal.shows("ready")
        terminal.go("Go on\r", " tokens · ")
        terminal.go("\x1b[1;5A")
        terminal.go("v")
        terminal.go(ESCAPE)
        terminal.go(texts[0].replace("\x1b", "").replace("\r", "")[:5] + "\r", "Stop")
        terminal.until(lambda painted: "Another answer" in painted.rpartition("Stop")[2])
        terminal.go("Race" + F[4], "Wrong guesses")
        terminal.go("s")
        terminal.go(ESCAPE)
        terminal.go(ESCAPE)
