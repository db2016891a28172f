"""The day of a question stands once a day in the prompt, and breaks no cached prefix."""

from itertools import pairwise

import pytest

from assistant.prompt.prompt_tokens import ChatTokens
from assistant.request import Message, Request
from models.progress import CancelFlag
from tests import tiny
from tests.assistant.prompt.prompts import bytes_of, chat_of, vocabulary

FRIDAY, SATURDAY = "2026-11-27", "2026-11-28"
TOLD = {
    FRIDAY: "(Asked on Friday, 27 November 2026.)",
    SATURDAY: "(Asked on Saturday, 28 November 2026.)",
}
SYSTEM = Message("system", "Be brief.")
LLAMA = (  # as Llama 3.1's and 3.2's
    "{% if not date_string is defined %}{% if strftime_now is defined %}"
    "{% set date_string = strftime_now('%d %b %Y') %}{% else %}"
    "{% set date_string = '26 Jul 2024' %}{% endif %}{% endif %}"
    "Today Date: {{ date_string }}\n" + tiny.TEMPLATE
)
WITHOUT_NOW = LLAMA.replace("strftime_now is defined", "false")
UNLESS_SYSTEM = (  # as Granite's and Mistral's
    "{% set today = strftime_now('%Y-%m-%d') %}"
    "{% if messages[0]['role'] != 'system' %}The current date is {{ today }}.\n{% endif %}"
    + tiny.TEMPLATE
)


def asked(text: str, day: str) -> Message:
    return Message("user", text, day=day)


TALK = (
    SYSTEM,
    asked("Why?", FRIDAY),
    Message("assistant", "Because."),
    asked("How?", FRIDAY),
    Message("assistant", "So."),
    asked("When?", SATURDAY),
)


def rendered(folder, messages, template: str = tiny.TEMPLATE) -> str:
    with chat_of(folder, template) as (vocab, chat):
        return bytes_of(vocab, chat.encode(messages)).decode()


def test_the_first_question_of_each_day_says_which_day_it_is_and_no_other_does(tmp_path):
    text = rendered(tmp_path, TALK)
    for day, question, count in ((FRIDAY, "Why?", 1), (SATURDAY, "When?", 1)):
        assert f"user\n{TOLD[day]}\n\n{question}" in text
        assert text.count(TOLD[day]) == count
    assert "user\nHow?" in text


@pytest.mark.parametrize("template", [tiny.TEMPLATE, LLAMA, WITHOUT_NOW, UNLESS_SYSTEM])
def test_the_prompt_of_each_question_begins_with_those_before_it(tmp_path, template):
    with chat_of(tmp_path, template) as (_, chat):
        prompts = [chat.encode(TALK[:end]) for end in (2, 4, 6)]
    for before, after in pairwise(prompts):
        assert after[: len(before)] == before


@pytest.mark.parametrize("template", [LLAMA, WITHOUT_NOW])
@pytest.mark.parametrize("start", [0, 1], ids=["with a system prompt", "without one"])
def test_a_template_with_a_place_for_the_day_gets_the_first_one_there(tmp_path, template, start):
    text = rendered(tmp_path, TALK[start:], template)
    assert "Today Date: 27 Nov 2026\n" in text
    assert TOLD[FRIDAY] not in text
    assert f"user\n{TOLD[SATURDAY]}\n\nWhen?" in text


def test_a_template_that_hides_its_place_for_the_day_leaves_it_to_the_question(tmp_path):
    assert f"user\n{TOLD[FRIDAY]}\n\nWhy?" in rendered(tmp_path, TALK, UNLESS_SYSTEM)
    without = rendered(tmp_path, TALK[1:], UNLESS_SYSTEM)
    assert "The current date is 2026-11-27." in without
    assert TOLD[FRIDAY] not in without


@pytest.mark.parametrize("words", ["Why?", ""])
def test_the_day_stands_after_what_is_attached_and_before_the_words(tmp_path, words):
    file = "a.txt:\n```\nSky.\n```"
    content = "\n\n".join(filter(None, (file, words)))
    question = Message("user", content, day=FRIDAY, attached=len(content) - len(words))
    text = rendered(tmp_path, [question])
    assert "\n\n".join(filter(None, (f"user\n{file}", TOLD[FRIDAY], words))) in text


def test_the_first_question_that_is_left_of_a_day_says_it_where_earlier_ones_were_dropped(tmp_path):
    turns = [asked("Why? " * 20, FRIDAY), Message("assistant", "Because. " * 20)] * 8
    request = Request((SYSTEM, *turns, asked("How?", FRIDAY)))
    with vocabulary(tiny.write(tmp_path / "m.gguf")) as vocab:
        prompt = ChatTokens(vocab).prompt(request, 400, CancelFlag())
        assert prompt.dropped
        text = bytes_of(vocab, prompt.tokens).decode()
    first = text.index("user\n") + len("user\n")
    assert text[first:].startswith(TOLD[FRIDAY])
    assert text.count(TOLD[FRIDAY]) == 1
