"""The conversation widget: focus, scrolling, and older messages."""

import asyncio
import re
from dataclasses import replace
from unittest.mock import Mock

import pytest

from assistant.events import Stats, Step, Trace
from assistant.store.values import MARKS, Attachment
from models.errors import StorageError
from tests.tui.chat.turns import (
    RESIDUAL,
    Shown,
    answer,
    characters,
    ghost,
    open_page,
    question,
    talk,
    text_of,
    token,
    user_turns,
)
from tests.tui.rest import late_messages, until
from tui.chat.conversation import turn
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.older_turns import KEPT, MAX_SHOWN, PAGE
from tui.chat.conversation.turn import SHOWN, UserTurn
from tui.text.text_view import TextView, as_step


async def test_a_long_name_is_cut_before_a_date_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "MINUTE_S", 0.5)
    async with open_page(size=(56, 24)) as page:
        long = replace(answer(2), created=0.0, siblings=(2, 5, 9), model="A model " * 20)
        await page.open([question(1), long])
        for mark in (" A model", "▸ A model"):  # the focus is seen without colour
            line = next(line for line in page.text.splitlines() if mark in line)
            assert "… ·" in line
            assert "1970" in line
            assert "branch 1/3" in line
            page.view.focus_last()
            await page.settle()
        await page.pilot.resize_terminal(120, 24)
        await page.settle()
        assert "A model A model A model A model" in page.text
        monkeypatch.setattr(turn, "when", lambda _: "the day before")  # midnight has passed
        await page.until(lambda: "the day before" in page.text)


async def test_footer_offers_only_what_applies_and_only_while_focused() -> None:
    async with open_page(question(1), answer(2, siblings=(2,))) as page:
        assert page.keys() == {}
        page.view.focus_last()
        await page.settle()
        assert set(page.keys()) == set("cvgrfd")
        await page.press("k")
        assert set(page.keys()) == set("cefd")
        page.view.query(UserTurn).last().add_class("waiting")
        streaming = await page.stream(as_step("x"))
        streaming.focus()
        await page.settle()
        assert set(page.keys()) == set("cvgi")
        streaming.end(replace(streaming.record, state="failed"))
        await page.settle()
        assert set(page.keys()) == set("cvginrfd")
        text = "```\nx\n```"
        old = replace(answer(2, text, state="stopped"), siblings=(1, 2, 3))
        await page.open([question(9), old], {2: (as_step(text),)})
        page.view.turns[1].focus()
        await page.pilot.press(*"cyernfdi", "left", "right")
        assert [verb for verb, _ in page.wanted] == [
            *("copy", "copy-code", "regenerate", "continue", "fork", "delete"),
            *("inspect", "older", "newer"),
        ]


async def test_up_and_down_move_the_focus_and_leave_it_at_the_end() -> None:
    async with open_page(*talk(4)) as page:
        page.view.focus_last()
        await page.pilot.press("k", "up", "k")
        assert page.app.focused is page.view.turns[0]
        await page.pilot.press("up", "j", "down", "j")
        assert page.app.focused is page.view.turns[3]
        assert page.app.left == 0
        await page.press("down")
        assert page.app.left == 1


async def test_only_an_arrow_alone_scrolls_a_turn_longer_than_the_screen() -> None:
    async with open_page() as page:
        long = "\n\n".join(f"paragraph {number}" for number in range(60))
        await page.open([question(1, "first"), answer(2, long)])
        page.view.focus_last()
        bottom = page.view.scroll_y
        await page.press("up")
        assert page.app.focused is page.view.turns[1]
        assert page.view.scroll_y < bottom
        await page.press(*["up"] * 50)
        assert page.app.focused is page.view.turns[0]
        await page.press("down")
        assert "paragraph 0" in page.text
        assert page.app.focused is page.view.turns[1]
        await page.press("end", "ctrl+up")  # to the next, however long this one is
        assert page.app.focused is page.view.turns[0]


async def test_older_turns_come_at_the_top_and_the_reader_keeps_the_place() -> None:
    async with open_page() as page:
        page.view.open(talk(100))
        assert len(page.view.turns) == PAGE  # the newest are there at once
        await page.settle()
        assert page.view.scroll_y == page.view.max_scroll_y
        page.view.scroll_to(y=4, animate=False)
        await page.settle()
        assert len(page.view.turns) == PAGE
        assert page.text.splitlines()[1].split() == ["answer", "82"]
        page.view.scroll_to(y=1, animate=False)
        await page.settle()
        assert len(page.view.turns) == 2 * PAGE
        assert page.text.splitlines()[1].split() == ["▌", "question", "81"]
        page.view.scroll_home(duration=0.1)  # ends where older turns have come
        await until(page.pilot, lambda: len(page.view.turns) > 2 * PAGE)
        await page.settle()
        assert len(page.view.turns) == 3 * PAGE
        assert "question 61" in page.text


async def test_very_many_turns_on_the_screen_are_taken_away_again() -> None:
    async with open_page(*talk(300)) as page:
        while len(page.view.turns) <= MAX_SHOWN:
            page.view._older.mount_older()
        page.view.anchor()
        await page.settle()
        page.view.add_question(question(999, "next"))
        await page.settle()
        assert len(page.view.turns) < MAX_SHOWN
        assert page.view.turns[-1].text == "next"
        page.view.scroll_home(animate=False)
        await page.settle()
        first = int(page.view.turns[0].text.removeprefix("question "))
        assert 301 - MAX_SHOWN - PAGE <= first < 301 - KEPT
        assert user_turns(page) == [*(f"question {id}" for id in range(first, 300, 2)), "next"]


async def test_the_oldest_turns_are_mounted_without_those_in_between() -> None:
    async with open_page(*talk(80)) as page:
        page.view.focus_last()
        await page.press("home")
        await page.settle()
        assert "question 1" in page.text
        assert page.app.focused is page.view.turns[0]
        assert len(page.view.turns) == 2 * PAGE
        await page.press(*["ctrl+down"] * (PAGE + 2))  # through the gap
        assert page.app.focused is page.view.turns[PAGE + 2]
        assert page.view.turns[PAGE + 2].text == f"question {PAGE + 3}"
        await page.press("end")
        await page.settle()
        assert "answer 80" in page.text
        assert len(page.view.turns) == PAGE
        page.view.reader.find(50)
        await page.settle()
        await page.press(*["ctrl+up"] * 12)  # above what was mounted around it
        assert page.app.focused in page.view.turns
        assert "answer 38" in page.text
        await page.press(*["ctrl+down"] * 24)
        assert "answer 62" in page.text
        numbers = [int(turn.text.split()[1]) for turn in page.view.turns]
        assert numbers == [*range(numbers[0], 81)]
        await page.press("home")
        page.view.add_question(question(999, "next"))
        await page.settle()
        assert page.view.turns[-1].text == "next"
        assert len(page.view.turns) <= MAX_SHOWN


@pytest.mark.parametrize("seed", range(2))
async def test_keys_and_hits_arrive_when_turns_are_laid_out_late(seed: int) -> None:
    async with open_page(*talk(90)) as page:
        with late_messages(seed):
            page.view.focus_last()
            page.at_once("home")
            await until(page.pilot, lambda: page.app.focused is page.view.turns[0])
            await until(page.pilot, lambda: "question 1 " in page.text)
            page.view.reader.find(50, ["lines"])
            await until(page.pilot, lambda: "answer 50" in page.text)
            turn = next(turn for turn in page.view.turns if turn.text.startswith("answer 50"))
            view = turn.query_one(TextView)
            await until(page.pilot, lambda: ("l", "reverse") in characters(view))
            page.at_once(*["ctrl+up"] * 12)
            await until(page.pilot, lambda: "answer 38" in page.text)
        await page.settle()
        assert page.app.focused in page.view.turns
        assert "answer 38" in page.text


async def test_turns_on_their_way_when_another_conversation_is_opened_stay_away() -> None:
    async with open_page(*talk(60)) as page:
        page.view.scroll_to(y=1, animate=False, immediate=True, force=True)
        page.view.open([question(99, "other")])
        await page.settle()
        assert user_turns(page) == ["other"]


async def test_an_answer_whose_rounds_cannot_be_read_is_shown_without_colours() -> None:
    async with open_page() as page:
        page.app.branch.trace = Mock(side_effect=StorageError("chats.db is damaged."))
        page.view.open([question(1), answer(2)])
        await page.settle()
        assert "Because." in page.text


async def test_new_text_below_is_hinted_at_without_scrolling() -> None:
    async with open_page(*talk(30)) as page:
        streaming = await page.stream(as_step("start"))
        page.view.scroll_relative(y=-10, animate=False)
        await page.settle()
        place = page.view.scroll_y
        assert "new text below" not in page.text
        for number in range(30):
            streaming.add(as_step(f"\nline {number}"))
        await page.settle()
        assert page.view.scroll_y == place
        assert "↓ new text below" in page.text
        await page.end(streaming, "length")
        assert page.view.scroll_y == place
        await page.pilot.click(page.view.hint)
        await page.settle()
        assert MARKS["length"] in page.text
        assert "new text below" not in page.text


async def test_the_hint_disappears_once_all_text_is_visible() -> None:
    async with open_page(size=(80, 16)) as page:
        streaming = await page.stream(as_step("\n\n".join(map(str, range(9)))))
        page.view.scroll_home(animate=False)
        await page.settle()
        streaming.add(as_step("\n\n9\n\n10"))
        await page.settle()
        assert "new text below" in page.text
        await page.pilot.resize_terminal(120, 40)
        await page.settle()
        assert "new text below" not in page.text
        streaming.add(as_step("\n\n11"))
        await page.settle()
        assert "new text below" not in page.text
        await page.end(streaming, "length")


def top_paragraph(page: Shown) -> str:
    """The first paragraph number on the screen."""
    return str(re.findall(r"paragraph (\d+)", page.text)[0])


async def test_the_reader_stays_at_the_passage_whatever_happens_to_the_answer() -> None:
    async with open_page(size=(100, 30)) as page:
        page.view.add_question(question(9))
        texts = [f"paragraph **{n}** " * 12 for n in range(60)]
        lines = [Step((token(f"{text}\n\n"),), (ghost("no "),)) for text in texts]
        streaming = await page.stream(*lines[:40])
        page.view.scroll_to(y=77, animate=False)
        await page.settle()
        place = top_paragraph(page)
        assert 10 < int(place) < 35
        for step in lines[40:]:
            streaming.add(step)
        await page.settle()
        assert top_paragraph(page) == place
        await page.end(streaming, "length")
        assert top_paragraph(page) == place
        streaming.focus(scroll_visible=False)
        for key in ("v", "g", "g", "v"):
            await page.press(key)
            assert top_paragraph(page) == place, key
        for size in ((60, 30), (120, 20), (40, 40), (100, 30)):
            await page.pilot.resize_terminal(*size)
            await page.settle()
            assert top_paragraph(page) == place, size


async def test_another_branch_leaves_the_turns_before_it_in_place() -> None:
    async with open_page() as page:
        records = talk(10)
        await page.open(records)
        before = page.view.turns
        other = [*records[:8], question(20, "another", (9, 20)), answer(21, "other")]
        await page.open(other)
        after = page.view.turns
        assert after[:8] == before[:8]
        assert [turn.text for turn in after[8:]] == ["another", "other"]
        assert before[8] not in after


async def test_attachments_are_listed_and_long_pastes_shortened() -> None:
    async with open_page() as page:
        files = (Attachment("no[te]s.md", "x" * 12_345), Attachment("b\x1b.txt", "é"))
        page.view.add_question(replace(question(9, "a" * (SHOWN * 10)), attachments=files))
        await page.settle()
        assert "@no[te]s.md · 12.3 kB" in page.text
        assert "@b␛.txt · 2 B" in page.text
        page.view.scroll_home(animate=False)
        turn = page.view.turns[0]
        assert len(turn.text) == SHOWN * 10
        assert len(turn.query_one(TextView).text) < SHOWN + 100


async def test_stored_answer_shows_how_it_was_made_when_asked() -> None:
    async with open_page() as page:
        stats = Stats("sps", rounds=2, tested=4, accepted=2, generated_tokens=4, decode_s=1.0)
        step = Step((token("**b**"), token("!", RESIDUAL)))
        traces: dict[int, Trace] = {2: (step,)}
        await page.open([question(1), answer(2, "**b**!", stats=stats, stop="length")], traces)
        shown = page.view.turns[1]
        assert isinstance(shown, Answer)
        assert "cut at the length limit · 4 tokens" in page.text
        assert text_of(shown) == "b!"
        assert "right guess · correction" in page.text
        assert shown.steps == [step]
        page.view.switch(colours=False)
        await page.open([question(3), answer(4, "**b**!")], {4: (step,)})
        shown = page.view.turns[1]
        assert isinstance(shown, Answer)
        assert shown.steps == []  # nobody looks at them
        shown.focus()
        await page.press("v")
        assert shown.steps == [step]


async def test_a_slow_store_delays_no_message() -> None:
    slow = asyncio.Event()

    def trace(id: int) -> Trace:
        asyncio.run_coroutine_threadsafe(slow.wait(), loop).result()
        return (as_step("late"),)

    async with open_page() as page:
        loop = asyncio.get_running_loop()
        page.app.branch.trace = trace
        page.view.open([question(1), answer(2, "late")])
        await until(page.pilot, lambda: "late" in page.text)
        page.view.focus_last()
        await page.pilot.press("v", "c")
        assert page.wanted == [("copy", "late")]
        slow.set()
        await page.settle()
