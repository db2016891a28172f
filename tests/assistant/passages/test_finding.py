"""`finding`: the passages of a folder that fit a question, best first, each once, or none."""

import os
from pathlib import Path

import pytest

from assistant.passages import finding, versions
from assistant.passages.folder_index import FolderIndex
from assistant.passages.splitting import Passage
from tests.assistant.passages.indexes import indexed_here, names

_ROWS = Path(__file__).with_name("within.txt").read_text("utf-8").splitlines()
WITHIN = [row.split("\t") for row in _ROWS]
"""A text, a question, and whether the one is found by the other."""
LONG = "Every keeper of the house writes his hours into the book, and signs it. " * 8


@pytest.fixture
def write(tmp_path):
    """Write a folder, and return its index."""

    def written(**texts: str) -> FolderIndex:
        (tmp_path / "folder").mkdir()
        for name, text in texts.items():
            (tmp_path / "folder" / f"{name}.md").write_text(text)
        return indexed_here(tmp_path / "folder", tmp_path / "cache")

    return written


def test_the_passage_with_the_rare_words_of_the_question_comes_first(write):
    index = write(
        a="The zebra drinks in the evening.",
        b="The zebra and the giraffe sleep in the evening.",
        **{f"z{at}": f"The zebra, number {at}, sleeps." for at in range(9)},
    )
    assert names(index, "Where do zebra and giraffe sleep?")[0] == "b.md"


def test_of_each_thing_that_a_question_compares_a_passage_is_among_the_first(write):
    zebras = {f"z{at}": f"The zebra, number {at}, eats hay." for at in range(3)}
    others = {f"x{at}": f"Otter {at} swims." for at in range(20)}
    index = write(y="The lemur of the keepers sleeps until noon.", **zebras, **others)
    hits = index.find("Compare the hay of a zebra with the lemur.", limit=2).passages
    assert {hit.path.stem[0] for hit in hits} == {"y", "z"}
    assert {*names(index, "Is it about lemurs, quokkas or 17?")} == {"x17.md", "y.md"}


def test_a_passage_that_adds_little_to_the_best_one_is_left_out(write):
    index = write(a="Zebra, giraffe, okapi, lemur, otter and tapir.", b="Otto swims.")
    assert names(index, "Do zebra, giraffe, okapi, lemur, otter and tapir swim?") == ["a.md"]


def test_a_folder_that_says_nothing_of_a_question_finds_nothing(write):
    index = write(a="The zebra drinks in the evening.", b="The giraffe sleeps at night.")
    assert index.find("What is the capital of Mongolia?").passages == []
    assert index.find("Are there evening trains and night buses?").passages == []
    for question in ("What is it?", "", '"" AND (* NEAR'):
        assert index.find(question).passages == []


def test_a_word_that_a_small_folder_does_not_know_is_not_all_of_the_question(write):
    index = write(a="Sow the carrots in March.", b="The spade is in the shed.", c="Potatoes.")
    assert names(index, "When are the carrots sown, and where?") == ["a.md"]


def test_a_folder_without_an_index_or_with_an_empty_one_finds_nothing(tmp_path, write):
    assert FolderIndex(tmp_path, tmp_path / "none").find("zebra").passages == []
    assert write().find("zebra").passages == []  # also while the first file is read
    assert FolderIndex(tmp_path, tmp_path / "none").state == (0, (), 0, False)


def test_an_earlier_question_counts_but_less_than_this_one_and_the_last_one_most(write):
    zebra, giraffe = "The zebra costs nine coins.", "The giraffe costs ten coins."
    index = write(a=zebra, b=giraffe, c="The zebra sleeps.", d="The okapi eats leaves.")
    before = ["Thanks.", "Tell me of the giraffe.", "And the zebra?"]
    assert names(index, "What does it cost?", before)[:2] == ["b.md", "a.md"]
    questions = ("What does the zebra cost?", "And why?", "yes")
    assert [names(index, text, before)[0] for text in questions] == ["a.md", "b.md", "b.md"]
    assert names(index, "no, the other one", before)[:2] == ["b.md", "c.md"]


def test_a_question_about_something_else_is_not_answered_from_what_was_asked_before(write):
    index = write(a="The okapi eats leaves at noon.", b="Zebras sleep.", c="Lemurs climb.")
    before = ["Which leaves does the okapi eat at noon?"]
    assert names(index, "Which bank finances trains?", before) == []
    assert names(index, "And who planted them?", before) == ["a.md"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("30 days", "14 days"), ("Holloway", "Okafor"), ("may be", "may not be"),
     ("3 March", "9 May"), ("sjette", "tredje"), ("lundi", "mardi")],
)  # fmt: skip
def test_a_version_that_differs_in_a_word_stands_beside_the_other(write, old, new):
    text = "# The zebra\n\n" + " ".join(f"beast{at} {'of {}' * (at % 9 == 0)}" for at in range(60))
    a, b = text.format(*[old] * 9), text.format(*[new] * 9)
    index = write(a=a, b=b, c="A zebra.", d=f"{a}\n{old}")
    for name, changed in (("a", 2), ("b", 3), ("d", 1)):
        os.utime(index.folder / f"{name}.md", ns=(changed, changed))
    indexed_here(index.folder, index.folder.parent / "cache")
    for question in (f"zebra beast7 {old}", f"What is {old}?"):
        passages = index.find(question, limit=2).passages
        notes, older = {each.path.name: each.note for each in passages}, passages[0].path.name
        assert notes == {older: "older than b.md", "b.md": f"newer than {older}"}


def test_versions_that_a_question_does_not_name_take_no_place_of_another_text(write):
    text = " ".join(f"beast{at}" for at in range(60))
    versions = {f"v{at}": f"{text} zoo{at} mark{at}" for at in range(12)}
    found = names(write(z="A zebra.", **versions), "zoo7 mark7 zebra")
    assert (found[0], "z.md" in found[:3]) == ("v7.md", True)


def test_a_file_that_goes_while_it_is_searched_is_found_and_then_no_more(write, monkeypatch):
    index, real = write(a="A zebra.", b="An okapi."), versions.read

    def read(*arguments):
        (index.folder / "a.md").unlink(missing_ok=True)
        indexed_here(index.folder, index.folder.parent / "cache")
        return real(*arguments)

    monkeypatch.setattr(versions, "read", read)
    assert [names(index, "zebra"), names(index, "zebra")] == [["a.md"], []]


def test_the_same_text_is_found_once(write):
    assert len(write(a="A zebra.", b="A  zebra.").find("zebra").passages) == 1


@pytest.mark.parametrize(("text", "question", "is_found"), WITHIN)
def test_a_word_within_longer_ones_is_found_and_they_by_it(write, text, question, is_found):
    index = write(a=text, b="Nothing of the kind is here.", c="Else.")
    assert names(index, question) == ["a.md"] * bool(is_found)


@pytest.mark.parametrize(("asked", "near"), [("recieved", "received"), ("Gzrdz", ""), ("ligt", "")])
def test_a_word_that_no_passage_has_is_looked_for_by_its_spelling(write, asked, near):
    index = write(a="get_user_by_id was received in the garden by a light, today.", b="Else.")
    hits = index.find(asked)  # of a short one, very many words are as near
    assert (hits.instead, bool(hits.passages)) == ({asked: near} if near else {}, bool(near))
    assert index.find("userbyid").passages


@pytest.mark.parametrize("other", ["Leeds", "Der Hund und die Katze sind im Keller bei dem Ofen."])
def test_a_question_in_another_language_needs_more_of_its_words(write, other):
    text = "The telephone is in the hall, and the server is next to the stairs."
    index = write(a=text, b="Else.", c="None of that.", d=other)
    assert names(index, "Wo ist das Telephone der Nachbarn?") == []
    assert names(index, "Wo ist das Telephone?") == ["a.md"]


def test_passages_that_follow_each_other_are_one_with_the_lines_between(write):
    sections = [" ".join(f"word{at}x{number}" for number in range(100)) for at in range(8)]
    for at in (2, 3, 6):
        sections[at] += " zebra"
    text = "".join(f"# Part\n\n{section}\n\n" for section in sections)
    passages = write(a=text).find("zebra").passages
    for passage in passages:
        assert passage.text == "\n".join(text.split("\n")[passage.first - 1 : passage.last])
    assert sorted((passage.first, passage.last) for passage in passages) == [(9, 15), (25, 27)]


def test_passages_that_follow_each_other_take_the_place_of_the_best():
    texts = {3: "three", 9: "nine", 10: "ten", 4: "four", 5: "five"}
    passages = {at: Passage(at, at, "", text, Path("a")) for at, text in texts.items()}
    assert [each.text for each in finding._join(passages)] == ["three\nfour\nfive", "nine\nten"]
    passages[4] = passages[4]._replace(path=Path("b"))
    assert len(finding._join(passages)) == 4


def test_at_most_as_many_as_are_wanted_are_found(write):
    index = write(**{f"a{at}": f"The zebra {at} {'abcdefghij'[at] * 9}." for at in range(10)})
    assert len(index.find("zebra", limit=3).passages) == 3
    assert len(index.find("zebra").passages) == 8


def test_a_passage_is_found_by_the_headings_far_above_it_and_the_name_of_its_file(write):
    end = f"{LONG}\n\n" * 5 + "The zebra sleeps."
    index = write(guide=f"# Install\n\n## Windows\n\n{end}", other=end)
    (best,) = index.find("windows zebra", limit=1).passages
    assert (best.heading, "zebra" in best.text) == ("Install > Windows", True)
    assert names(index, "guide")[0] == "guide.md"


def test_words_that_are_everywhere_are_not_looked_for(write, monkeypatch):
    """The time is bounded: there is room for some places, and the rarest words take it."""
    index = write(
        **{f"a{at}": f"The {'zebra' if at % 3 else 'okapi'} sleeps, {at}." for at in range(60)},
        b="The giraffe drinks near water.",
        c="The giraffe and the zebra drink near water.",
    )
    assert names(index, "zebra giraffe")[0] == "c.md"
    monkeypatch.setattr(finding, "MAX_PASSAGES", 10)
    assert names(index, "zebra giraffe") == ["b.md", "c.md"]
    assert len(index.find("zebra").passages) == 8  # but one word is always looked for


def test_of_a_long_question_the_end_is_looked_for(write, monkeypatch):
    index = write(a="The zebra sleeps.", b="The giraffe drinks.")
    monkeypatch.setattr(finding, "WORDS", 2)
    assert names(index, "The giraffe drinks, and the zebra sleeps.") == ["a.md"]


TASK = "Write three polite sentences that remind my tenant of the {}, for an e-mail."


@pytest.mark.parametrize(
    ("thing", "is_found"), [("house rules", True), ("rules", False), ("okapi", False)]
)
def test_a_document_that_a_task_names_is_what_it_is_about(write, thing, is_found):
    rules, visits = "# House rules\n\nThe okapi sleeps.", "# Visits\n\nThree zebras come."
    index = write(a=rules, b=visits, c="Else.")
    assert names(index, TASK.format(thing)) == ["a.md"] * is_found
    assert index.find("Wer schreibt mir die House rules ab, und in welcher Sprache?").passages


def test_a_title_of_many_documents_names_none(write):
    parts = {name: f"# House rules\n\nThe {name}." for name in ("okapi", "zebra", "lemur", "tapir")}
    assert names(write(**parts), TASK.format("house rules")) == []


def test_a_row_is_found_with_its_header_by_words_of_both(write):
    rows = "\n".join(f"| Town{at} | {at % 7} | {at % 5} |" for at in range(200))
    index = write(a=f"| city | adult | child |\n|---|---|---|\n{rows}", b="Else.", c="More.")
    (found,) = index.find("What does a child pay in Town151?", limit=1).passages
    assert found.text.startswith("| city | adult | child |\n|---|---|---|\n| Town")
    assert "\n| Town151 | 4 | 1 |\n" in found.text
