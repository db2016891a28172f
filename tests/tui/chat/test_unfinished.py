"""What is typed and not sent: it stays where it was typed, whatever happens."""

from assistant.store import Store, place, unsent
from assistant.store.values import Attachment
from tests.tui.chat.chat_driver import Chat, Pair, open_chat

PINNED = Attachment("notes.txt", "Buy milk.")


async def edit_the_question(chat: Chat) -> None:
    """Begin to change the only question there is."""
    await chat.press("ctrl+up", "up", "e")


async def open_conversation(chat: Chat, number: int | None) -> None:
    chat.screen.controller.open(number)
    await chat.pilot.pause()


async def test_a_change_of_a_question_that_is_left_is_there_when_one_comes_back(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        said = chat.said
        chat.prompt.text = "meanwhile"
        await edit_the_question(chat)
        assert chat.prompt.text == "One"
        chat.prompt.text = "One and a half"
        await chat.pilot.press("escape")
        assert (chat.prompt.text, chat.said) == ("meanwhile", said)
        assert any("change is kept" in text for text in chat.told)
        await edit_the_question(chat)
        assert chat.prompt.text == "One and a half"
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.said[0] == "One and a half")
        assert chat.prompt.text == "meanwhile"
        await chat.until(lambda: not chat.screen.talk.answers.under_way)


async def test_a_question_that_was_left_unchanged_is_as_it_was(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        await edit_the_question(chat)
        await chat.pilot.press("escape")
        assert chat.prompt.text == ""
        assert not chat.app._notifications
        chat.screen.autosave.keep()
        assert "One" not in str(chat.screen.controller.unsent._kept)


async def test_a_change_of_a_question_goes_on_after_a_restart(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        said = chat.said
        await edit_the_question(chat)
        chat.prompt.text = "One and a half"
        await chat.pilot.press("ctrl+q")
    async with open_chat(*pair) as chat:
        await chat.ready()
        assert (chat.prompt.text, chat.said) == ("One and a half", said)
        await chat.pilot.press("escape")
        assert chat.prompt.text == ""
        await edit_the_question(chat)
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.said[0] == "One and a half")
        await chat.until(lambda: not chat.screen.talk.answers.under_way)


async def test_it_is_on_disk_before_the_app_ends(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        chat.prompt.text = "more"
        other = Store(place())
        number = chat.path.conversation
        await chat.until(lambda: "more" in (other.recall(unsent(number, None)) or ""))
        assert other.recall("open") == str(number)
        other.close()


async def test_a_conversation_that_has_been_deleted_for_good_is_no_reason_to_complain(
    pair: Pair,
) -> None:
    async with open_chat(*pair, asked=("One",)):
        pass
    store = Store(place())
    store.delete(store.summaries()[0].id)
    store.close()
    async with open_chat(*pair) as chat:
        await chat.ready()
        assert chat.said == []
        assert "not saved" not in "".join(chat.shown("#name"))
