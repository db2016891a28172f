"""A question finds what a folder says of it, best first, each thing once, or nothing."""

import pytest

from assistant.passages import finding
from assistant.passages.folder_index import FolderIndex
from assistant.passages.splitting import Passage
from tests.assistant.passages.indexes import indexed, names

LONG = "Every keeper of the house writes his hours into the book, and signs it. " * 8


@pytest.fixture
def write(tmp_path):
    """Write a folder, and return its index."""

    def written(**texts: str) -> FolderIndex:
        (tmp_path / "folder").mkdir()
        for name, text in texts.items():
            (tmp_path / "folder" / f"{name}.md").write_text(text)
        return indexed(tmp_path / "folder", tmp_path / "cache")

    return written


def test_the_passage_with_the_rare_words_of_the_question_comes_first(write):
    index = write(
        a="The zebra drinks in the evening.",
        b="The zebra and the giraffe sleep in the evening.",
        **{f"z{at}": f"The zebra, number {at}, sleeps." for at in range(9)},
    )
    assert names(index, "Where do zebra and giraffe sleep?")[0] == "b.md"


def test_a_folder_that_says_nothing_of_a_question_finds_nothing(write):
    index = write(a="The zebra drinks in the evening.", b="The giraffe sleeps at night.")
    assert index.find("What is the capital of Mongolia?") == []
    assert index.find("Which bank in Mongolia finances evening trains to Peking?") == []
    assert index.find("What is it?") == index.find("") == index.find('"" AND (* NEAR') == []


def test_a_word_that_a_small_folder_does_not_know_is_not_all_of_the_question(write):
    index = write(
        a="Sow the carrots in March.", b="The spade is in the shed.", c="Potatoes in September."
    )
    assert names(index, "When are the carrots sown, and where?") == ["a.md"]


def test_a_folder_without_an_index_finds_nothing(tmp_path):
    assert FolderIndex(tmp_path, tmp_path / "none").find("zebra") == []
    assert FolderIndex(tmp_path, tmp_path / "none").state == (0, 0, (), 0, False)


def test_what_was_said_before_counts_but_less_than_the_question(write):
    index = write(
        a="The zebra costs nine coins.", b="The giraffe costs ten coins.", c="The zebra sleeps.",
        d="The okapi eats leaves.",
    )  # fmt: skip
    before = ["Tell me of the giraffe."]
    assert index.find("What does it cost?", before)[0].path.name == "b.md"
    assert index.find("What does the zebra cost?", before)[0].path.name == "a.md"
    assert index.find("And why?", before)[0].path.name == "b.md"


def test_a_copy_is_left_out_and_a_correction_stands_beside_what_it_corrects(write):
    words = [f"beast{at}" for at in range(150)]
    index = write(
        a=" ".join(["zebra", *words]),
        b=" ".join(["Zebra:", *words]),
        c=" ".join(["zebra", *words[:-1], "14"]),
    )
    assert len(index.find("zebra")) == 2


def test_passages_that_follow_each_other_are_one_with_the_lines_between(write):
    sections = [" ".join(f"word{at}x{number}" for number in range(100)) for at in range(8)]
    for at in (2, 3, 6):
        sections[at] += " zebra"
    text = "".join(f"# Part\n\n{section}\n\n" for section in sections)
    index = write(a=text)
    found = index.find("zebra")
    assert len(found) == 2
    for each in found:
        assert each.text == "\n".join(text.split("\n")[each.first - 1 : each.last])
    assert sorted((each.first, each.last) for each in found) == [(9, 15), (25, 27)]


def test_passages_that_follow_each_other_take_the_place_of_the_best():
    found = {3: "three", 9: "nine", 10: "ten", 4: "four", 5: "five"}
    passages = {at: Passage(at, at, "", text, finding.Path("a")) for at, text in found.items()}
    assert [each.text for each in finding._joined(passages)] == ["three\nfour\nfive", "nine\nten"]
    passages[4] = passages[4]._replace(path=finding.Path("b"))
    assert len(finding._joined(passages)) == 4


def test_at_most_as_many_as_are_wanted_are_found(write):
    index = write(**{f"a{at}": f"The zebra {at} {'abcdefghij'[at] * 9}." for at in range(10)})
    assert len(index.find("zebra", most=3)) == 3
    assert len(index.find("zebra")) == 8


def test_a_passage_is_found_by_its_headings_and_the_name_of_its_file(write):
    section = "# Install\n\n## Windows\n\n" + f"{LONG}\n\n" * 5
    index = write(guide=section, other="Nothing of the kind.", third="Else.")
    found = index.find("install windows")
    assert {each.heading for each in found} >= {"Install > Windows"} or len(found) == 1
    assert names(index, "guide")[0] == "guide.md"


def test_words_that_are_everywhere_are_not_looked_for(write, monkeypatch):
    """The time is bounded: there is room for some places, and the rarest words take it."""
    index = write(
        **{f"a{at}": f"The {'zebra' if at % 3 else 'okapi'} sleeps, {at}." for at in range(60)},
        b="The giraffe drinks near water.",
        c="The giraffe and the zebra drink near water.",
    )
    assert names(index, "zebra giraffe")[0] == "c.md"
    monkeypatch.setattr(finding, "PLACES", 10)
    assert names(index, "zebra giraffe") == ["b.md", "c.md"]
    assert len(index.find("zebra")) == 8  # but one word is always looked for


def test_of_a_long_question_the_end_is_looked_for(write, monkeypatch):
    index = write(a="The zebra sleeps.", b="The giraffe drinks.")
    monkeypatch.setattr(finding, "WORDS", 2)
    assert names(index, "The giraffe drinks, and the zebra sleeps.") == ["a.md"]
