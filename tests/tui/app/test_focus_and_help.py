"""Focus, hints and help: the focus stays where it is, and hints name keys that work."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets._toast import Toast

from assistant.events import Decoded, Finished, LaneEvent, ModelInfo, Prepared, Ready, Stats, Stop
from assistant.request import EngineArgs, Lane
from assistant.settings.settings import Settings
from tests.tui.chat.chat_driver import Pair, open_chat
from tui.app.help_screen import COLOURS
from tui.chat.conversation.answer import Answer
from tui.models.inventory import ModelInventory
from tui.race.recorded import RecordedLane, turns_sentence
from tui.widgets.entry_screen import EntryScreen

WIDE = (120, 40)


async def test_a_deletion_that_leaves_nothing_names_a_way_back_that_works(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        before = chat.texts
        await chat.act("up", "d")
        assert "Ctrl+Z brings it back" in "".join(chat.notices)  # u would be typed into the prompt
        await chat.pilot.press("x", "ctrl+z")
        assert (chat.prompt.text, chat.texts) == ("", [])  # what was typed goes first
        await chat.pilot.press("ctrl+z")
        await chat.until(lambda: chat.texts == before)


async def test_a_fork_is_typed_into_at_once_also_beside_the_list(pair: Pair) -> None:
    async with open_chat(*pair, size=WIDE, asked=("One",)) as chat:
        await chat.pilot.press("f2")
        await chat.act("up", "f")
        assert chat.screen.focused is chat.prompt.editor
        assert "Ctrl+R" in "".join(chat.notices)
        assert "Fork: One" in [each.title for each in chat.store.summaries()]
        await chat.pilot.press("ctrl+r")
        await chat.until(lambda: len(chat.engine.received(Finished)) == 2)


async def test_the_border_says_a_question_is_edited_until_it_is_sent_or_left(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        await chat.act("up", "e")
        assert "asks it again" in str(chat.prompt.border_title)
        await chat.pilot.press("space", "@", "escape")  # the picker has the border for a while
        assert "asks it again" in str(chat.prompt.border_title)
        await chat.pilot.press("escape")
        assert not chat.prompt.border_title
        await chat.act("up", "e")
        await chat.pilot.press("enter")
        await chat.until(lambda: len(chat.engine.received(Finished)) == 2)
        assert not chat.prompt.border_title


async def test_escape_and_f2_close_the_list_and_f2_first_goes_back_to_it(pair: Pair) -> None:
    async with open_chat(*pair, size=WIDE, asked=("One",)) as chat:
        chats = chat.screen.chats
        for *keys, closes in (
            ("f2", "escape"), ("f2", "o", "escape"), ("f2", "ctrl+up", "escape"), ("f2", "f2")
        ):  # fmt: skip
            await chat.pilot.press(*keys)
            assert chats.display
            await chat.pilot.press(closes)
            assert not chats.display
            assert chat.screen.focused is chat.prompt.editor
        await chat.pilot.press("f2")
        chat.prompt.focus()
        await chat.pilot.press("f2")
        assert (chats.display, chats.rows.has_focus) == (True, True)


async def test_ctrl_r_in_a_search_renames_what_is_found_and_asks_nothing_again(pair: Pair) -> None:
    async with open_chat(*pair, size=WIDE, asked=("One",)) as chat:
        before = chat.texts
        await chat.pilot.press("f2", "o")
        await chat.until(lambda: chat.screen.chats.rows.chosen)
        await chat.pilot.press("ctrl+r")
        assert isinstance(chat.app.screen, EntryScreen)
        await chat.pilot.press("escape", *"zzz")
        await chat.until(lambda: not chat.screen.chats.rows.chosen)
        await chat.pilot.press("ctrl+r")
        assert (chat.texts, chat.screen.session.idle) == (before, True)


async def test_an_open_conversation_that_is_deleted_goes_and_comes_back(pair: Pair) -> None:
    async with open_chat(*pair, size=WIDE, asked=("One",)) as chat:
        rows, branch = chat.screen.chats.rows, chat.screen.session.branch
        before, view = (chat.texts, branch.conversation), chat.screen.conversation
        chat.store.create("Another")
        await chat.pilot.press("f2")
        await chat.until(lambda: rows.chosen and rows.chosen.id == branch.conversation)
        await chat.pilot.press("delete")
        await chat.until(lambda: len(rows.listing.summaries) == 1 and not view.turns)
        await chat.pilot.press("ctrl+z")
        await chat.until(lambda: rows.chosen and rows.chosen.id == branch.conversation)
        assert (chat.texts, branch.conversation) == before


async def test_the_palette_offers_each_thing_once_in_words_and_help_begins_with_the_colours(
    pair: Pair,
) -> None:
    async with open_chat(*pair, size=(80, 24)) as chat:
        commands = list(chat.app.get_system_commands(chat.app.screen))
        titles = [command.title for command in commands]
        assert len(set(titles)) == len(titles)
        assert {"Quit · Exit", "Theme", "New conversation, clear screen"} <= set(titles)
        assert not {"Keys", "Maximize", "Screenshot"} & set(titles)
        assert {c.help for c in commands if c.title.startswith("New ")} == {"Ctrl+N"}
        await chat.pilot.press("f1")
        await chat.until(lambda: chat.app.screen.query("#keys"))
        await chat.pilot.pause()
        shown = chat.text
        assert all(words in shown for words in COLOURS.values())


async def test_a_user_who_types_is_not_interrupted_by_the_models(bare_machine: Path) -> None:
    async with open_chat(None) as chat:
        chat.prompt.editor.text = "Pressing p, n or enter now"
        await chat.until(lambda: chat.shown(".note"))
        assert chat.app.screen is chat.screen
        assert "F5" in chat.shown(".note")[0]


async def test_g_shows_the_wrong_guesses_of_one_answer_and_ctrl_g_those_of_all(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        for expected in ("are shown", "are hidden", "are shown"):
            await chat.pilot.press("ctrl+g")
            assert expected in "".join(chat.notices)
        answer = chat.screen.conversation.turns[-1]
        assert isinstance(answer, Answer)
        assert answer.ghosts
        await chat.act("g")
        assert not answer.ghosts


def test_a_loaded_file_of_no_store_is_listed_as_target(bare_machine: Path, target: Path) -> None:
    info = ModelInfo("target", target.stem, target, 512)
    stock = ModelInventory(Settings(n_ctx=512), Ready(info, None, None))
    assert [model.path for model in stock.scan()] == [target]
    assert stock.target() is not None
    same = ModelInventory(Settings(n_ctx=512), Ready(info, replace(info, role="draft"), None))
    assert [same.entry(model).now for model in same.scan()] == ["target"]


def test_when_all_other_lanes_are_over_no_equal_time_is_claimed() -> None:
    setup = EngineArgs(Path("target.gguf"), None, 512)
    lanes = (Lane("without guesses", setup, "ars"), Lane("with guesses", setup, "sps"))
    both = [RecordedLane(lane, [LaneEvent(0, 1.0, Prepared(1, 0, 0))]) for lane in lanes]
    assert "1.0 s" in turns_sentence(both)
    end = Finished("", (), Stop.STOP_TOKEN, Stats("ars"))
    both[0].lane_events.append(LaneEvent(0, 1.0, end))
    assert turns_sentence(both) == "Only the lane with guesses is still writing."


@pytest.mark.parametrize("keys", [("f1",), ("f5",), ("f6",), ("ctrl+up", "i")])
@pytest.mark.some(2)
async def test_ctrl_c_twice_quits_from_every_screen(pair: Pair, keys: tuple[str, ...]) -> None:
    async with open_chat(*pair, size=WIDE, asked=("One",)) as chat:
        await chat.pilot.press(*keys)
        await chat.until(lambda: chat.app.screen is not chat.screen)
        await chat.pilot.press("ctrl+c")
        assert "again to quit" in "".join(chat.notices)
        assert not chat.app._exit
        await chat.pilot.press("ctrl+c")
        assert chat.app._exit


async def test_escape_says_where_it_leads(pair: Pair) -> None:
    async with open_chat(*pair, hold=(Decoded, 2)) as chat:
        await chat.ready()
        assert chat.footer.get("esc") is None
        await chat.send("One")
        await chat.held()
        assert chat.footer["esc"] == "Stop"
        await chat.end()
        await chat.pilot.press("ctrl+up")
        await chat.until(lambda: chat.footer.get("esc") == "Back")
        await chat.pilot.press("k", "e")
        await chat.until(lambda: chat.footer.get("esc") == "Cancel")
        await chat.pilot.press("escape")
        assert chat.screen.controller.unsent.question is None
        assert chat.screen.focused is chat.prompt.editor


async def test_no_text_has_the_colour_of_its_ground(pair: Pair) -> None:
    async with open_chat(*pair, theme="ansi-light") as chat:
        for theme in ("ansi-light", "ansi-dark", "textual-dark", "textual-light"):
            chat.app.theme = theme
            await chat.pilot.pause()
            for widget in (chat.screen.status, chat.prompt):
                for y in range(widget.size.height + 2):
                    for segment in widget.render_line(y):
                        style = segment.style
                        ground = style.bgcolor if style and segment.text.strip() else None
                        if style and ground and not ground.is_default:
                            assert style.color != ground, (theme, segment.text)


@pytest.mark.parametrize("size", [(80, 24), WIDE])
async def test_a_toast_covers_no_prompt_answer_or_key(pair: Pair, size: tuple[int, int]) -> None:
    async with open_chat(*pair, size=size, notifications=True, asked=("One",)) as chat:
        await chat.pilot.press("ctrl+g")
        await chat.until(lambda: chat.screen.query(Toast))
        toast = chat.screen.query_one(Toast).region
        assert not toast.overlaps(chat.prompt.region)
        assert not toast.overlaps(chat.screen.conversation.turns[-1].region)
        assert toast.bottom == chat.prompt.region.y
