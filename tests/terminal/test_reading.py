"""The passage at the top of a real terminal stays there while the text around it changes."""

import re
from contextlib import closing
from pathlib import Path

from assistant.session.unsent_text import OPEN
from assistant.store.store import Store
from tests.stored import ask, begin, end
from tests.terminal.terminal import READY, F, Terminal, opened

PAGE_UP, CTRL_UP = "\x1b[5~", "\x1b[1;5A"
TEXT = "\n\n".join(f"- item **p{number}** " + f"of p{number} " * 14 for number in range(80))


def top(screen: str) -> str:
    """The first paragraph that is on the screen."""
    found = re.search(r"\bp(\d+)\b", screen)
    return found[1] if found else ""


def stays(terminal: Terminal, place: str) -> None:
    """Wait until nothing is painted any more; the passage at the top is the same."""
    terminal.settle(0.7)
    assert top(terminal.text) == place, terminal.text


def test_the_passage_at_the_top_stays_there(tmp_path: Path, models: list[str]) -> None:
    (tmp_path / "home").mkdir()
    with closing(Store(tmp_path / "home" / "chats.db")) as store:
        number = store.create("A long answer")
        question = ask(store, number, None, "Tell me much.")
        end(store, begin(store, number, question.id, "tiny").id, TEXT, stop="stop-token")
        store.remember(OPEN, str(number))
    with opened(tmp_path, *models, size=(110, 36)) as terminal:
        terminal.shows(READY, "p79")
        terminal.press(CTRL_UP)
        for _ in range(3):
            terminal.press(PAGE_UP)
            terminal.settle(0.5)
        place = top(terminal.text)
        assert 20 < int(place) < 75
        for key in ("v", "g", "v", F[3], F[3]):
            terminal.press(key)
            stays(terminal, place)
        for size in ((70, 36), (130, 24), (50, 40), (110, 36)):
            terminal.resize(*size)
            stays(terminal, place)
