"""The layout of the chat on small and narrow screens."""

from itertools import product

from textual.widgets._footer import FooterKey

from tests.tui.chat.chat_driver import Pair, open_chat
from tui.widgets.keyline import KeyLine


async def test_every_key_of_the_footer_is_seen_whole(pair: Pair) -> None:
    async with open_chat(*pair, size=(40, 24), asked=("One",)) as chat:
        for width, keys in product((40, 200), ((), ("ctrl+up",), ("f2",))):
            await chat.pilot.resize_terminal(width, 24)
            await chat.pilot.press("escape", "escape", *keys)
            await chat.pilot.pause(0.2)
            await chat.until(lambda: all(key.region for key in chat.screen.query(FooterKey)))
            whole = chat.screen.query_one(KeyLine).region
            assert chat.footer["f1"] == "Help"
            if keys:
                assert chat.footer["esc"] == "Back"
            for key in chat.screen.query(FooterKey):
                assert whole.contains_region(key.region), key.description
            if width == 200 and keys == ("ctrl+up",):
                assert {"Copy", "Back", "Help"} <= {*chat.footer.values()}


async def test_a_conversation_keeps_the_width_of_a_narrow_screen_or_one_that_becomes_narrow(
    pair: Pair,
) -> None:
    async with open_chat(*pair, size=(60, 20), asked=("One",)) as chat:
        body, view = chat.screen.query_one("#body"), chat.screen.conversation
        assert view.outer_size.width == 60
        for key, side in (("f2", chat.screen.chats), ("f3", chat.screen.panel)):
            await chat.press(key)
            assert side.region == body.region
            assert view.outer_size.width == 60
            await chat.press("escape")
            assert not side.display
            assert chat.screen.focused is chat.prompt.editor
        await chat.pilot.resize_terminal(130, 30)
        await chat.pilot.press("f3", "f2", "escape")
        await chat.pilot.resize_terminal(60, 20)
        await chat.until(lambda: not chat.screen.covered)
        await chat.pilot.resize_terminal(130, 30)
        await chat.pilot.press("f2")
        await chat.pilot.resize_terminal(60, 20)
        await chat.until(lambda: chat.screen.covered)
        assert chat.screen.chats.has_focus_within


async def test_where_both_sides_do_not_fit_the_one_asked_for_takes_the_place(pair: Pair) -> None:
    async with open_chat(*pair, size=(80, 24), asked=("A long title " * 9,)) as chat:
        chats, panel, view = chat.screen.chats, chat.screen.panel, chat.screen.conversation
        await chat.press("f3", "f2")
        assert (chats.display, panel.display) == (True, False)
        await chat.until(lambda: chats.rows.chosen)
        assert view.size.width >= 40
        await chat.press("f3")
        assert (chats.display, panel.display) == (False, True)
        assert chat.screen.focused is chat.prompt.editor
        for width, both in ((90, None), (120, False), (170, True)):
            chats.display = False
            await chat.pilot.resize_terminal(width, 24)
            panel.wanted = both is not None
            await chat.press("f2")
            await chat.until(lambda: panel.display is bool(both))  # noqa: B023
            await chat.until(lambda: chats.rows.chosen)
            await chat.press("enter")
            assert chats.display is (both is not None)  # below 100 cells it closes


async def test_the_typed_text_is_seen_on_a_screen_of_a_few_lines(pair: Pair) -> None:
    async with open_chat(*pair, size=(80, 24), asked=("One",)) as chat:
        for size, word in (((20, 5), "here"), ((30, 8), "there"), ((40, 10), "where")):
            await chat.pilot.resize_terminal(*size)
            assert chat.screen.size == size
            await chat.pilot.press(*word)
            await chat.pilot.pause(0.1)
            editor, body = chat.prompt.editor.region, chat.screen.query_one("#body").region
            assert editor.height >= 1
            assert body.height >= 3
            assert chat.screen.region.contains_region(chat.prompt.region)
            assert word in chat.text
            assert chat.screen.query_one(KeyLine).region.height == 1
            chat.prompt.editor.text = ""
            await chat.pilot.resize_terminal(80, 24)
            await chat.until(lambda: chat.screen.banner.display and chat.screen.status.display)
            assert chat.prompt.region.height == 3


async def test_a_list_that_is_hidden_and_a_footer_that_is_gone_leave_keys_alone(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        await chat.press("f2")
        await chat.until(lambda: chat.screen.chats.rows.chosen)
        await chat.press("slash", "f2", *"rx", "enter")
        await chat.until(lambda: "rx" in chat.texts)
        assert [each.title for each in chat.store.summaries()] == ["One"]
        line = chat.screen.query_one(KeyLine)
        line.bindings_changed(chat.screen)
        await line.remove()
        await line.recompose()


async def test_lists_that_found_nothing_are_painted_at_any_width(pair: Pair) -> None:
    async with open_chat(*pair, size=(60, 20)) as chat:
        for keys in (("@", *"zzqq"), ("f5", *"zzqq")):
            await chat.pilot.press(*keys)
            for width in (*range(12, 0, -1), 60):
                await chat.pilot.resize_terminal(width, 20)
                await chat.pilot.press("q", "backspace")
                assert chat.app.screen.size.width == width
