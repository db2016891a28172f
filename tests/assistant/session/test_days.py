"""A question has the day on which it was stored, whatever day it is now."""

from dataclasses import replace
from datetime import datetime

import pytest

from assistant.request import Message, Request
from assistant.session.messages import messages_of
from assistant.settings.settings import Settings
from assistant.store.values import Attachment, StoredMessage, moment
from tests.assistant.session.scripted_session import ScriptedSession

NIGHT = datetime(2026, 11, 27, 23, 59).timestamp()
FRIDAY, SATURDAY = "2026-11-27", "2026-11-28"


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time at which questions are asked."""
    now = [NIGHT]
    monkeypatch.setattr("assistant.session.active_branch.time", lambda: now[0])
    return now


def dated_session(dated: bool = True) -> ScriptedSession:
    return ScriptedSession(make_request=lambda: Request((), dated=dated))


def days(request: Request | None) -> list[str]:
    assert request is not None
    return [each.day for each in request.messages]


async def test_questions_have_the_days_on_which_they_were_asked_on_every_later_day(now):
    stage = dated_session()
    await stage.ask("Why?", "Because.")
    now[0] += 120
    await stage.ask("How?", "So.")
    assert days(stage.requests[-1]) == [FRIDAY, "", SATURDAY]
    now[0] += 1e7
    stage.session.branch.reopen()
    await stage.ask("When?", "Now.")
    assert days(stage.requests[-1])[:4] == [FRIDAY, "", SATURDAY, ""]


@pytest.mark.parametrize(("dated", "day"), [(True, FRIDAY), (False, "")])
async def test_an_idle_prefill_has_the_day_that_the_question_will_have_if_any(dated, day):
    stage = dated_session(dated)
    ahead = stage.session.requests.next("Why?")
    race = stage.session.requests.race("Why?")
    await stage.ask("Why?")
    assert ahead is not None
    assert race is not None
    assert ahead.messages == race.messages == stage.requests[-1].messages
    assert days(ahead) == [day]


@pytest.mark.parametrize("words", ["Why?", "", " "])
def test_an_attachment_is_known_to_stand_before_the_words(words):
    path = [
        StoredMessage(1, None, "user", "Unanswered.", NIGHT, "complete"),
        StoredMessage(
            2, 1, "user", words, NIGHT, "complete", attachments=(Attachment("a.txt", "Sky."),)
        ),
    ]
    (message,) = messages_of(path, "", "", dated=True)
    start = message.content[: message.attached]
    assert start.rstrip() == "Unanswered.\n\na.txt:\n```\nSky.\n```"
    assert message.content[message.attached :] == words.strip()


@pytest.mark.parametrize("stored", [0.0, -1e18, 1e18, float("inf"), float("nan"), "damaged"])
def test_a_question_of_an_impossible_or_unknown_time_has_no_day(stored):
    question = StoredMessage(1, None, "user", "Why?", moment(stored), "complete")
    assert messages_of([question], "", "", dated=True) == (Message("user", "Why?"),)


def test_a_seed_or_the_setting_keeps_the_day_out_and_questions_outside_conversations_have_none():
    settings = Settings()
    assert settings.request().dated
    assert not replace(settings, seed=1).request().dated
    assert not replace(settings, date=False).request().dated
    assert days(settings.request("Why?")) == [""]  # of a race
