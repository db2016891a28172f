"""`support`: statements and citations that the passages do not support are marked."""

import json
from pathlib import Path

import pytest

from assistant.session.support import Support, check, struck, unsupported
from assistant.store.exports import markdown
from assistant.store.values import Attachment, FullConversation, StoredMessage

PAIRS = json.loads((Path(__file__).parent / "answers_and_passages.json").read_text("utf-8"))
OLD = Attachment("docs/old.md", "Exit code 5 means a lost form.", 1, 1, 1)
NEW = Attachment("docs/new.md", "The port is 8080.", 2, 3, 3)


def test_numbers_and_names_that_stand_in_no_passage_are_found() -> None:
    right = wrong = missed = 0
    for pair in PAIRS:
        found = unsupported(pair["answer"], [pair["passages"], pair["question"]])
        values = {each.split()[0] for each in found}  # without units
        right += len(values & {*pair["marked"]})
        wrong += len(values - {*pair["marked"]})
        missed += len({*pair["marked"]} - values)
    assert right / (right + wrong) >= 0.96
    assert right / (right + missed) >= 0.92


def asked(id_: int, text: str, *attachments: Attachment) -> StoredMessage:
    parent = id_ - 1 or None
    return StoredMessage(id_, parent, "user", text, 0.0, "complete", attachments=attachments)


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
    text = "Yes [1, 7]. `a[7]`\n```\n[7]\n```\n[7](https://a.example)"
    marked = text.replace("[1, 7]", "[1] ~~[7]~~ (no such passage)", 1)
    assert struck(text, [7]) == marked


def test_an_export_strikes_out_wrong_citations_and_has_the_remarks() -> None:
    last, path = after_two_questions("Port 8081 [1].", asked(3, "Which port?", NEW))
    whole = FullConversation("", False, "", 0.0, 0.0, False, last.id, tuple(path), {})
    text = markdown(whole)
    assert "Port 8081 ~~[1]~~ (no such passage)." in text
    assert "*Not in the passages: 8081.*" in text
