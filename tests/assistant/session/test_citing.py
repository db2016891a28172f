"""Passages and answers: their numbers, the sources of an answer, and what no passage supports."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.session.citing import before_question, sources
from assistant.session.messages import passages_of
from assistant.session.support import Support, check, find_unsupported, struck
from assistant.store.exports import markdown
from assistant.store.values import Attachment, FullConversation, StoredMessage

SKY = Attachment("notes/sky.md", "The sky is blue.", first=1, last=3)
SEA = Attachment("notes/sea.md", "The sea is deep.", first=7, last=7)
SUN = Attachment("notes/sun.md", "The sun is hot.", first=2, last=4)


def asked(id_: int, text: str, *attachments: Attachment) -> StoredMessage:
    parent = id_ - 1 or None
    return StoredMessage(id_, parent, "user", text, 0.0, "complete", attachments=attachments)


def question(*attachments: Attachment) -> StoredMessage:
    return asked(1, "Why?", *attachments)


def numbered(*hits: Attachment, path: tuple[StoredMessage, ...] = (), n_ctx: int = 8192):
    return before_question(hits, path, n_ctx)


def test_a_passage_that_comes_again_keeps_its_number_and_is_not_repeated() -> None:
    path = (question(*numbered(SKY, SEA)),)  # the best passage stands next to the question
    again, new = numbered(SUN, SKY, path=path)
    assert (again.name, again.number, again.text) == ("notes/sky.md", 2, "")
    assert (new.name, new.number, new.text) == ("notes/sun.md", 3, SUN.text)
    assert passages_of((*path, question(again, new)))[2].text == SKY.text


def test_a_passage_of_another_text_is_another() -> None:
    path = (question(*numbered(SKY)),)
    (new,) = numbered(Attachment(SKY.name, "It is grey.", first=1, last=3), path=path)
    assert (new.number, new.text) == (2, "It is grey.")


def test_a_passage_that_a_long_conversation_may_have_dropped_is_read_again() -> None:
    path = (question(*numbered(SKY)), asked(1, "word " * 4000))
    (again,) = numbered(SKY, path=path, n_ctx=8192)
    assert (again.number, again.text) == (2, SKY.text)
    (kept,) = numbered(SKY, path=path, n_ctx=65_536)
    assert (kept.number, kept.text) == (1, "")


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("It is blue [2], and deep [1].", [2, 1]),
        ("Both [1, 2][2].", [1, 2]),
        ("See [3] and [0], [1].", [1]),
        ("Nothing.", []),
        ("`x[1]` and x[2] and ```\n[1]\n``` and [1](https://a.example)", []),
        ("```\n[1] in a block that never ends", []),
        ("[99999999999999999999]", []),
    ],
)
def test_sources_are_the_passages_that_are_cited_in_words(answer: str, numbers: list[int]) -> None:
    passages = passages_of([question(*numbered(SEA, SKY))])
    shown = sources(answer, passages)
    assert [each.number for each in shown] == numbers
    assert not any(each.text for each in shown)


def test_an_answer_that_cites_nothing_has_the_passages_that_it_quotes_as_sources() -> None:
    wind = "Wind moves the dunes a few metres every year."
    dunes = Attachment("notes/dunes.md", wind, first=1, last=1)
    passages = passages_of([question(*numbered(SKY, dunes))])
    quoting = "Look: *wind* moves the dunes a few metres, every year."
    assert [each.name for each in sources(quoting, passages)] == [dunes.name]
    assert [each.name for each in sources(f"{quoting} [2]", passages)] == [SKY.name]
    assert sources("Wind moves the dunes.", passages) == ()


# What no passage supports

PAIRS = json.loads((Path(__file__).parent / "answers_and_passages.json").read_text("utf-8"))
OLD = Attachment("docs/old.md", "Exit code 5 means a lost form.", 1, 1, 1)
NEW = Attachment("docs/new.md", "The port is 8080.", 2, 3, 3)
SKY3 = replace(SKY, number=3)


def test_numbers_and_names_that_stand_in_no_passage_are_found() -> None:
    right = wrong = missed = 0
    for pair in PAIRS:
        found = find_unsupported(pair["answer"], [pair["passages"], pair["question"]])
        values = {each.split()[0] for each in found}  # without units
        right += len(values & {*pair["marked"]})
        wrong += len(values - {*pair["marked"]})
        missed += len({*pair["marked"]} - values)
    assert right / (right + wrong) >= 0.96
    assert right / (right + missed) >= 0.92


def answered(id_: int, text: str, *sources: Attachment) -> StoredMessage:
    return StoredMessage(id_, id_ - 1, "assistant", text, 0.0, "complete", attachments=sources)


def after_two_questions(
    answer: str, second: StoredMessage
) -> tuple[StoredMessage, list[StoredMessage]]:
    last = answered(4, answer)
    return last, [asked(1, "Which code?", OLD), answered(2, "5 [1]."), second, last]


@pytest.mark.parametrize(
    ("answer", "second", "remarks"),
    [
        ("8080 [2].", asked(3, "Which port?", NEW), []),
        (
            "The exit code is 8080. [1]",
            asked(3, "Which port?", NEW),
            ["[1] is not a passage of this question.", "No passage is cited."],
        ),
        ("It is 8080.", asked(3, "Which port?", NEW), ["No passage is cited."]),
        ("8081 [2].", asked(3, "Which port?", NEW), ["Not in the passages: 8081."]),
        ("8080 [3].", asked(3, "Which?", NEW, SKY3), ["Not in the cited passages: 8080."]),
        ("8080 [2, 3].", asked(3, "Which?", NEW, SKY3), []),
        ("8081 [2].", asked(3, "Is it 8081?", NEW), []),
        ("8081 [2].", asked(3, "Is it?", NEW, Attachment("a.txt", "8081")), []),
        ("5 [1].", asked(3, "And?", Attachment(OLD.name, "", 1, 1, 1)), []),  # it stands again
        ("5 [1].", asked(3, "What does [1] say?"), []),
        ("Yes [1].", asked(3, "Sure?"), ["[1] is not a passage of this question."]),
    ],
)
def test_an_answer_is_checked_against_the_passages_of_its_own_question(
    answer: str, second: StoredMessage, remarks: list[str]
) -> None:
    assert list(check(*after_two_questions(answer, second)).warnings) == remarks


def test_an_answer_without_a_folder_is_not_checked() -> None:
    last = answered(2, "Apple has 9 [1].")
    assert check(last, [asked(1, "Why?"), last]) == Support()


def test_a_stored_answer_without_passages_is_recognised() -> None:
    last, empty = answered(4, "Yes [1]."), Attachment("air.md/", "text", note="by passages")
    path = [asked(1, "?", NEW), answered(2, "8081 [1]."), asked(3, "?", empty), last]
    support = check(last, path)
    assert support.unfound == "Nothing was found in air.md for this; answered without it."
    assert support.wrong == (1,)
    assert check(path[1], path).unfound == ""


def test_a_wrong_citation_is_struck_out_with_words_but_not_in_code() -> None:
    text = "Yes [1, 07]. `a[7]`\n```\n[7]\n```\n[7](https://a.example)"
    marked = text.replace("[1, 07]", "[1, ~~07~~ (no such passage)]", 1)
    assert struck(text, [7]) == marked


def test_an_export_strikes_out_wrong_citations_and_has_the_remarks() -> None:
    last, path = after_two_questions("Port 8081 [1].", asked(3, "Which port?", NEW))
    whole = FullConversation("", False, "", 0.0, 0.0, False, last.id, tuple(path), {})
    text = markdown(whole)
    assert "Port 8081 [~~1~~ (no such passage)]." in text
    assert "*Not in the passages: 8081.*" in text
