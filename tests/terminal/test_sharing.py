"""Two real instances on one conversation: the second is told, and neither loses a message."""

from pathlib import Path

from assistant.store import Store
from tests.terminal.terminal import opened
from tests.terminal.test_chatting import DONE, QUIT, READY


def test_two_terminals_on_one_conversation(tmp_path: Path, models: list[str]) -> None:
    few = [*models, "--max-tokens", "20"]
    with opened(tmp_path, *few, size=(120, 40)) as one:
        one.shows(READY)
        one.press("Begun in one\r")
        one.shows("Begun in one", DONE)
        one.press(QUIT)
        assert one.end() == 0
    store = Store(tmp_path / "home" / "chats.db")
    (conversation,) = store.summaries()
    store.close()
    with (
        opened(tmp_path, *few, size=(120, 40)) as one,
        opened(tmp_path, *few, size=(120, 40)) as two,
    ):
        for terminal in (one, two):
            terminal.shows(READY, "Begun in one")
        assert sum("open in another specchat" in terminal.text for terminal in (one, two)) >= 1
        one.press("Said in one\r")
        two.press("Said in two\r")
        one.until(lambda screen: "Said in one" in screen and screen.count(DONE) >= 2)
        two.until(lambda screen: "Said in two" in screen and screen.count(DONE) >= 2)
        for terminal in (one, two):
            terminal.press(QUIT)
            assert terminal.end() == 0
    store = Store(tmp_path / "home" / "chats.db")
    kept = store.tree(conversation.id)
    questions = {record.content for record in kept if record.role == "user"}
    assert questions == {"Begun in one", "Said in one", "Said in two"}
    assert [record.state for record in kept if record.role == "assistant"] == ["stopped"] * 3
    store.close()
