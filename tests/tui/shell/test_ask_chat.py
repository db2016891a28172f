"""`specchat ask --chat`: a conversation that continues from command to command."""

import json

import pytest
from click.testing import CliRunner

from assistant.store.store import Store
from models.errors import StorageError
from tests.patience import until
from tests.tui.shell.program import ENDLESS, HOT, run, started
from tui.safe import safe
from tui.shell.ask_command import ask

FEW = (*HOT, "--max-tokens", "5")


def stored_texts(home) -> list[list[str]]:
    store = Store(home / "chats.db")
    found = [[each.content for each in store.path(chat.id)] for chat in store.summaries()]
    store.close()
    return found


def test_a_conversation_is_begun_and_continued(target, home):
    known = ("ask", "--target", target, "--draft", "none", *FEW)
    code, out, err = run(*known, "--chat", "new", "--system", "Be brief.", "First?")
    assert code == 0
    assert err == ""
    code, printed, _ = run(*known, "--chat", "last", "--json", "Second?")
    report = json.loads(printed)
    assert report["conversation"] == 1
    (path,) = stored_texts(home)
    assert [path[0], *path[2:]] == ["First?", "Second?", report["text"]]
    assert safe(path[1]) == out.removesuffix("\n")
    # All that was said is in the prompt; the tiny vocabulary is bytes.
    assert report["stats"]["prompt_tokens"] > len("Be brief.First?Second?") + 5
    store = Store(home / "chats.db")
    answer = store.path(1)[1]
    assert (answer.stats.generated_tokens, answer.stop, answer.state) == (5, "length", "stopped")
    assert len(store.trace(answer.id)) == 5
    assert store.system(1) == "Be brief."
    store.close()


def test_a_question_that_is_not_saved_knows_the_conversation_anyway(target, home):
    known = ("ask", "--target", target, "--draft", "none", *FEW)
    run(*known, "--chat", "new", "First?")
    before = stored_texts(home)
    _, printed, _ = run(*known, "--chat", "1", "--no-save", "--json", "Second?")
    assert json.loads(printed)["stats"]["prompt_tokens"] > len("First?Second?") + 5
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


@pytest.mark.parametrize("chat", ["last", "7"])
def test_a_conversation_that_is_not_there_is_said_and_none_is_made(home, chat):
    with pytest.raises(StorageError, match=r"no conversation.*--chat new"):
        CliRunner().invoke(ask, ["hi", "--chat", chat], catch_exceptions=False)
    assert not home.exists()


def test_one_that_was_deleted_is_not_continued(home):
    store = Store(home / "chats.db")
    number = store.create("x")
    store.delete(number)
    store.close()
    for chat in ("last", str(number)):
        with pytest.raises(StorageError, match="no conversation"):
            CliRunner().invoke(ask, ["hi", "--chat", chat], catch_exceptions=False)


@pytest.mark.parametrize("chat", ["0", "-1", "first", "", "1.5", "9" * 30, "9" * 5_000, "²"])
def test_a_chat_that_names_no_conversation_is_a_usage_error(chat):
    result = CliRunner().invoke(ask, ["hi", "--chat", chat])
    assert result.exit_code == 2
    assert "last, new or a number" in result.output
