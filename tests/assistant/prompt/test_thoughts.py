"""Thoughts and answers are separated however the text is cut, with nothing lost."""

from itertools import pairwise
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.events import text_in
from assistant.prompt.answer_text import AnswerText
from assistant.prompt.prompt_tokens import NO_THOUGHTS, ChatTokens
from assistant.prompt.thoughts import (
    FAMILIES,
    AnswerBeginning,
    PartPosition,
    ThoughtReader,
    find_markers,
)
from assistant.request import Message, Request
from assistant.streamed_text import TokenText
from models.native.vocab import Vocab
from models.progress import CancelFlag
from tests.assistant.prompt.prompts import token

THINK = find_markers("</think>", lambda text: False)
HARMONY, GEMMA = FAMILIES[:2]
FINAL = "<|end|><|start|>assistant<|channel|>final<|message|>"
START, OPENED = PartPosition(), PartPosition("thought", is_after_marker=True)


def answer_text(markers, at=START, words=(), begun=()):
    return AnswerText(AnswerBeginning(TokenText(words.__getitem__), markers, at), begun)


def parts(markers, *texts, at=START):
    """Return the thought and the answer of a text that comes in these pieces."""
    answer = answer_text(markers, at)
    read = [each for i, part in enumerate(texts) for each in answer.add(token(part, i))]
    read += answer.flush()
    assert [each.id for each in read] == sorted(each.id for each in read)
    return text_in(read, "thought"), text_in(read)


@pytest.mark.parametrize(
    ("markers", "at", "text", "thought", "answer"),
    [
        (THINK, START, "<think>\nHm.\n</think>\n\nYes.", "Hm.\n", "Yes."),
        (THINK, START, "\n<think>\n\n</think>\n\nYes.", "", "Yes."),
        (THINK, OPENED, "\nHm.</think>Yes.", "Hm.", "Yes."),
        (THINK, START, "<think>never ends", "never ends", ""),
        (THINK, START, "<think>half </thin", "half </thin", ""),
        (THINK, START, "<think>a <think> b</think>c</think>d", "a <think> b", "c</think>d"),
        (THINK, START, "The tag <think> is </think>.", "", "The tag <think> is </think>."),
        (THINK, START, "  <thi", "", "  <thi"),
        (THINK, START, "a</think>b", "", "a</think>b"),
        (HARMONY, START, f"<|channel|>analysis<|message|>Hm.{FINAL}Yes.", "Hm.", "Yes."),
        (HARMONY, START, "<|channel|>final<|message|>Yes.", "", "Yes."),
        (GEMMA, START, "<|channel>thought\nHm.<channel|>Y<|channel>thought\nA<channel|>es",
         "Hm.A", "Yes"),
    ],
)  # fmt: skip
def test_thought_and_answer_are_separate_however_cut(markers, at, text, thought, answer):
    for cut in range(len(text)):
        assert parts(markers, text[:cut], text[cut:], at=at) == (thought, answer)
    assert parts(markers, *text, at=at) == (thought, answer)


def test_markers_around_the_answer_itself_are_no_part_of_it():
    markers = find_markers("<think></think><answer></answer>", lambda text: False)
    assert parts(markers, *"<think>\nHm.\n</think>\n<answer>\nYes.</answer>") == ("Hm.\n", "Yes.")
    assert parts(markers, *"<answer>Yes.</answer>") == ("", "Yes.")


MARKS = [*sorted({mark for family in FAMILIES for mark in family.texts}), "</thi", " ", "\n", "x<"]


@given(
    st.sampled_from(FAMILIES),
    st.sampled_from([PartPosition(), OPENED]),
    st.lists(st.one_of(st.sampled_from(MARKS), st.text(max_size=3)), max_size=8),
)
def test_no_character_is_lost_and_the_pieces_do_not_matter(family, at, texts):
    whole = "".join(texts)
    end, segments = family.read(at, whole)
    assert "".join(text for _, text in segments) + end.buffered == whole
    by_letter, letters = at, []
    for letter in whole:
        by_letter, found = family.read(by_letter, letter)
        letters += found
    assert by_letter == end
    for part in ("thought", "answer"):
        told = [
            "".join(text for each, text in all_ if each == part) for all_ in (segments, letters)
        ]
        assert told[0] == told[1]
    assert parts(family, *texts, at=at) == parts(family, whole, at=at)


def test_a_token_that_is_a_marker_is_neither_and_one_that_is_half_a_marker_loses_that_half():
    answer, texts = answer_text(THINK), ("<think>", "\n", "Hm.</", "think", ">\n\n", "Yes", "")
    read = [each for part in texts for each in answer.add(token(part))]
    assert [(each.text, each.part) for each in read] == [
        ("<think>", "marker"), ("\n", "marker"), ("Hm.", "thought"), ("think", "marker"),
        (">\n\n", "marker"), ("Yes", "answer"), ("", "answer"),
    ]  # fmt: skip


def test_an_answer_that_goes_on_within_a_marker_knows_how_it_began():
    answer = answer_text(THINK, OPENED, (b"Hm.", b"</th"), begun=(0, 1))
    read = [each for part in ("ink", ">Yes") for each in answer.add(token(part))]
    assert [(each.text, each.part) for each in read] == [("ink", "marker"), ("Yes", "answer")]


# Where a thought ends, and budgets

KIMI = find_markers("◁think▷", lambda text: False)
WORDS = [b"<think>", b"hm", b"</think>", b"so", b"\n</", b"think>", b"\xe2", b"\x97\x81/think\xe2"]


def reader(budget=None, at=OPENED, closing=(4, 5), start=1, markers=THINK, words=WORDS):
    beginning = AnswerBeginning(TokenText(words.__getitem__), markers, at, start)
    return ThoughtReader(beginning, closing, budget)


def forced(budget, *context, **others):
    return reader(budget, **others).forced_token(context)


def test_a_thought_that_had_its_share_is_ended_token_by_token():
    assert [forced(2, 9, *[1] * n) for n in range(3)] == [None, None, 4]
    assert forced(2, 9, 1, 1, 4) == 5
    assert forced(2, 9, 1, 1, 4, 5) is None
    assert forced(0, 9) == 4
    assert forced(2, 9, 1, 2, 3) is None  # it ended by itself
    assert forced(2, 9, 1, 2, 3, 3, 3) is None
    assert forced(2, 9, 3, 3, 3, at=START) is None  # and here it never began
    assert forced(2, 9, 0, 1, 1, at=START) == 4


def test_tokens_that_do_not_end_a_thought_are_never_forced():
    assert forced(0, 9, closing=(1, 1)) is None
    assert forced(0, 9, closing=()) is None


FREE = st.lists(st.integers(0, len(WORDS) - 1), max_size=6)


@given(st.sampled_from([THINK, GEMMA]), st.sampled_from([START, OPENED]), FREE, st.integers(0, 3))
def test_a_thought_beyond_its_budget_ends_with_the_marker_in_any_answer(markers, at, begun, budget):
    words = [*WORDS, *(mark.encode() for mark in GEMMA.texts), b"<chan", b"nel|>"]
    closing = (4, 5) if markers is THINK else (len(words) - 2, len(words) - 1)
    holds = reader(budget, at, closing, 0, markers, words)
    answer = list(begun)
    while (token := holds.forced_token(answer)) is not None:
        answer.append(token)
    assert len(answer) <= len(begun) + len(closing)
    state = holds.state(answer)
    assert state.position.state != "thought" or state.thought < budget
    assert len(answer) == len(begun) or tuple(answer[-len(closing) :]) == closing


@given(st.lists(FREE, max_size=8), st.integers(0, 3), st.sampled_from([THINK, KIMI]))
def test_the_state_of_a_thought_depends_on_the_tokens_alone(asked, budget, markers):
    one = reader(budget, start=0, markers=markers)
    for answer in asked:
        anew = reader(budget, start=0, markers=markers)
        assert one.forced_token(answer) == anew.forced_token(answer)
        assert one.answer_start(answer) == anew.answer_start(answer)
        assert one.state(answer) == anew.state(answer)


@given(
    st.sampled_from([family for family in FAMILIES if family is not HARMONY]),
    st.lists(st.integers(1, 40), max_size=12),
)
def test_a_thought_ends_where_a_token_completes_its_marker_however_it_is_cut(family, cuts):
    """There a form begins and a budget stops counting; and there the answer is shown to begin."""
    thought, marker, rest = b"Hm\xc3", family.closes.encode(), "Ja, ◁ ist ein Zeichen".encode()
    whole = thought + marker + rest
    places = sorted({0, *(cut for cut in cuts if cut < len(whole)), len(whole)})
    words = [whole[i:j] for i, j in pairwise(places)]
    begins = next(i for i, place in enumerate(places) if place >= len(thought + marker))
    answer = [*range(len(words))]
    ends = reader(None, closing=(), start=0, markers=family, words=words)
    assert ends.answer_start(answer) == begins
    assert [ends.answer_start(answer[:i]) for i in range(begins)] == [None] * begins
    assert ends.state(answer).thought == begins
    shown, known = answer_text(family, OPENED, words), []
    for i in answer:
        known += shown.add(token(shown.complete(i)))
        assert shown.is_thinking == (i + 1 < begins)
    assert text_in(known, "thought") == "Hm\ufffd"
    assert text_in(known + shown.flush()) == rest.decode()


# Templates

LOOP = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content is defined and KEEP %}<think>{{ m.reasoning_content }}</think>"
    "{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)
QWEN = LOOP.replace("KEEP", "false") + (
    "{% if enable_thinking is defined and enable_thinking is false %}"
    "<think>\n\n</think>\n\n{% endif %}"
)
SMOLLM3 = (
    "{% if enable_thinking is not defined %}{% set enable_thinking = true %}{% endif %}" + QWEN
)
R1 = LOOP.replace("KEEP", "false") + "{{ '<think>\n' }}"
SEED = LOOP.replace("KEEP", "true") + "{{ reasoning_effort }}"
PICKY = QWEN + "{% if reasoning_effort == 'low' %}{{ raise_exception('no') }}{% endif %}"
ASKED = Message("user", "Why?")
SAID = Message("assistant", "Yes.", (1, 2), "Hm <|im_end|>")


def chat(template, controls=("<|im_start|>", "<|im_end|>")):
    names = {name: 1000 + i for i, name in enumerate(controls)}
    by_id = {i: name for name, i in names.items()}
    vocab = Mock(
        Vocab, template=template, controls=names, stop_tokens=frozenset(), bos=None,
        bos_text="", eos_text="", tokenize=lambda text: [*text.encode()],
        piece=lambda token: b"" if token in by_id else bytes([token]),
        text=lambda token: by_id.get(token, chr(token)),
    )  # fmt: skip
    return ChatTokens(vocab)


def prompt(chat, *messages, **wishes):
    """Return the text of a prompt, and the request."""
    request = Request(messages or (ASKED,), **wishes)
    return chat.encode(request.messages, chat.thinking.variables(request)), request


def thoughts_of(chat, request, ids):
    return chat.thinking.reader(request, chat.thinking.beginning(request, ids))


def text(chat, ids):
    names = {i: name for name, i in chat._vocab.controls.items()}
    return "".join(names.get(i) or chr(i) for i in ids)


@pytest.mark.parametrize("template", [QWEN, SMOLLM3])
def test_the_switch_is_the_template_s(template):
    switched = chat(template)
    assert not text(switched, prompt(switched)[0]).endswith("</think>\n\n")
    assert not text(switched, prompt(switched, thinking="on")[0]).endswith("</think>\n\n")
    ids, request = prompt(switched, thinking="off")
    assert text(switched, ids).endswith("<think>\n\n</think>\n\n")
    thoughts = thoughts_of(switched, request, ids)
    assert thoughts.state(ids).position.state == "answer"
    assert thoughts.budget is None


def test_without_a_switch_a_thought_that_is_not_wanted_is_ended_before_it_begins():
    opened = chat(R1)
    ids, request = prompt(opened, thinking="off")
    thoughts, answer = thoughts_of(opened, request, ids), list[int]()
    assert thoughts.state(ids).position.state == "thought"
    while (token := thoughts.forced_token([*ids, *answer])) is not None:
        answer.append(token)
    assert text(opened, answer) == "</think>"


def test_a_thought_is_left_to_the_template_and_commands_nothing():
    for template, kept in ((QWEN, False), (SEED, True), (R1, False)):
        told = chat(template)
        ids, _ = prompt(told, ASKED, SAID, ASKED)
        assert ("Hm <|im_end|>" in text(told, ids)) is kept
        assert "Yes.<|im_end|>" in text(told, ids)
        assert ids.count(1001) == 3  # as many ends as messages: the thought ended no turn


def test_effort_is_told_where_the_template_takes_it_else_remarked_on():
    takes, lacks = chat(SEED), chat(QWEN)
    assert text(takes, prompt(takes, effort="high")[0]).endswith("high")
    ids, request = prompt(lacks, effort="high")
    assert ids == prompt(lacks)[0]
    assert (takes.thinking.takes_effort, lacks.thinking.takes_effort) == (True, False)
    assert [*lacks.warnings(request)]
    assert not [*takes.warnings(request)]
    for wish in ({"thinking": "on"}, {"thinking_budget": 9}):
        assert NO_THOUGHTS in chat(None).warnings(Request((ASKED,), **wish))
    off = Request((ASKED,), thinking="off", thinking_budget=9)
    assert NO_THOUGHTS not in chat(None).warnings(off)


def test_a_value_that_a_template_refuses_is_left_out_and_the_template_kept():
    picky = chat(PICKY)
    plain, _ = prompt(picky)
    ids, _ = prompt(picky, effort="low", thinking="off")
    assert ids == plain
    assert "refuses this value" in picky.template.warning  # and no built-in one is used


def test_a_warning_about_a_prompt_is_repeated_when_its_answer_is_continued():
    odd = chat(QWEN + "{% if messages | length > 1 %}{{ 1 // 0 }}{% endif %}")
    begun = Message("assistant", "", (), "Hm.")
    for messages in ((ASKED, SAID, ASKED), (ASKED, SAID, ASKED, begun)):
        (remark,) = odd.prompt(Request(messages), 9999, CancelFlag()).warnings
        assert "for this conversation" in remark


@pytest.mark.parametrize("template", [QWEN, R1])
def test_a_continued_answer_begins_where_it_stopped(template):
    goes_on = chat(template)
    opens = "" if template is R1 else "<think>"
    for ids in ((), tuple(f"{opens}Hm.".encode())):
        cut = Message("assistant", "", ids, "Hm.")
        tokens_, request = prompt(goes_on, ASKED, cut)
        assert text(goes_on, tokens_).endswith("<think>" + "\n" * (template is R1) + "Hm.")
        for wish in ({"thinking_budget": 3}, {"thinking_budget": 1}, {"thinking": "off"}):
            again, request = prompt(goes_on, ASKED, cut, **wish)
            thoughts = thoughts_of(goes_on, request, again)
            assert again == tokens_
            assert thoughts.state(again).position.state == "thought"
            assert thoughts.forced_token(again) == ord("<")  # what it thought before counts
    marked = "Hm.</think>\n\nYes"  # as a client may write both
    for thought, content in (("Hm.", "Yes"), ("", "Yes"), ("", marked)):
        tokens_, request = prompt(goes_on, ASKED, Message("assistant", content, (), thought))
        closes = content is marked or thought or template is R1
        begun = marked if content is marked or thought else "</think>\n\nYes" if closes else "\nYes"
        assert text(goes_on, tokens_).endswith(begun)
        assert text(goes_on, tokens_).count("</think>") == bool(closes)
        assert thoughts_of(goes_on, request, tokens_).state(tokens_).position.state == "answer"


def test_markers_that_are_control_tokens_are_read_by_name():
    harmony = chat(
        "{{ messages[0].content }}<|start|>assistant",
        ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|other|>"),
    )
    assert harmony.thinking.markers is HARMONY
    read = harmony.thinking.beginning(Request((ASKED,)), []).text
    assert read.of([1003]) == "<|channel|>"
    assert read.of([1004]) == ""
    assert read.of(harmony.thinking.controls.tokenize(harmony.thinking.markers.closes)) == FINAL
    final = FINAL.removeprefix("<|end|><|start|>assistant")
    for thought, answer in (("", final), ("Hm.", f"<|channel|>analysis<|message|>Hm.{FINAL}")):
        begun = harmony.encode([ASKED, Message("assistant", "Yes", (), thought)])
        assert read.of(begun).endswith(f"<|start|>assistant{answer}Yes")
