"""`specchat ask --chat`: a conversation that continues from command to command."""

import json
from contextlib import closing

import pytest

from assistant.store.store import Store
from models.errors import StorageError
from tests.patience import until
from tests.tui.shell.program import ENDLESS, ask, invoke, started
from tui.safe import safe
from tui.shell.ask_command import ask as command

FEW = ("--max-tokens", "5")


def stored_texts(home) -> list[list[str]]:
    with closing(Store(home / "chats.db")) as store:
        paths = [store.path(chat.id) for chat in store.summaries()]
    return [[message.content for message in path] for path in paths]


def test_a_conversation_is_begun_and_continued_also_by_a_question_that_is_not_saved(target, home):
    code, out, err = ask(target, *FEW, "--chat", "new", "--system", "Be brief.", "First?")
    assert (code, err) == (0, "")
    report = json.loads(ask(target, *FEW, "--chat", "last", "--json", "Second?")[1])
    assert report["conversation"] == 1
    (path,) = stored_texts(home)
    assert [path[0], *path[2:]] == ["First?", "Second?", report["text"]]
    assert safe(path[1]) == out.removesuffix("\n")
    # All that was said is in the prompt; the tiny vocabulary is bytes.
    assert report["stats"]["prompt_tokens"] > len("Be brief.First?Second?") + 5
    with closing(Store(home / "chats.db")) as store:
        answer = store.path(1)[1]
        assert len(store.trace(answer.id)) == (answer.stats and answer.stats.generated_tokens) == 5
        assert (answer.stop, answer.state) == ("length", "stopped")
        assert store.system(1) == "Be brief."
    before = stored_texts(home)
    _, printed, _ = ask(target, *FEW, "--chat", "1", "--no-save", "--json", "Third?")
    assert json.loads(printed)["stats"]["prompt_tokens"] > len("First?Second?Third?") + 5
    assert stored_texts(home) == before


def test_an_answer_is_kept_while_it_comes_and_a_kill_leaves_that(endless, home):
    with started("ask", "--target", endless, *ENDLESS, "--chat", "new", "Well?") as process:
        assert process.stdout.read(100)
        until(lambda: len(stored_texts(home)[0][-1]) > 10)
        kept = stored_texts(home)[0]
        process.kill()
    ((question, answer),) = stored_texts(home)
    assert question == "Well?"
    assert answer.startswith(kept[-1])


def test_an_answer_that_cannot_be_saved_ends_its_line(target, home, monkeypatch):
    def update(store, record, trace):
        if record.content:
            raise StorageError("It is full.")

    monkeypatch.setattr(Store, "update", update)
    monkeypatch.setattr("tui.shell.ask_session.SAVE_EVERY_S", -1)
    code, printed, errors = ask(target, *FEW, "--chat", "new", "First?")
    assert (code, printed[-1:]) == (4, "\n"), errors


@pytest.mark.parametrize("chat", ["last", "1"])
def test_a_conversation_that_is_not_there_or_deleted_is_said_and_none_is_made(home, chat):
    with pytest.raises(StorageError, match=r"no conversation.*--chat new"):
        invoke(command, "hi", "--chat", chat)
    assert not home.exists()
    with closing(Store(home / "chats.db")) as store:
        store.delete(store.create("x"))
    with pytest.raises(StorageError, match="no conversation"):
        invoke(command, "hi", "--chat", chat)


@pytest.mark.parametrize("chat", ["0", "-1", "first", "", "1.5", "9" * 30, "9" * 5_000, "²"])
def test_a_chat_that_names_no_conversation_is_a_usage_error(chat):
    result = invoke(command, "hi", "--chat", chat)
    assert result.exit_code == 2
    assert "last, new or a number" in result.output
