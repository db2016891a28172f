"""Passages keep their numbers, and the sources of an answer are those that it cites."""

import pytest

from assistant.session.citing import before_question, sources
from assistant.session.messages import passages_of
from assistant.store.values import Attachment, StoredMessage

SKY = Attachment("notes/sky.md", "The sky is blue.", first=1, last=3)
SEA = Attachment("notes/sea.md", "The sea is deep.", first=7, last=7)
SUN = Attachment("notes/sun.md", "The sun is hot.", first=2, last=4)


def question(*attachments: Attachment, text: str = "Why?") -> StoredMessage:
    return StoredMessage(1, None, "user", text, 0.0, "complete", attachments=attachments)


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
    path = (question(*numbered(SKY)), question(text="word " * 4000))
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
