"""`splitting`: passages of whole lines, cut where it is best, with right line numbers."""

import random

import pytest

from assistant.passages.splitting import MAX_LENGTH, MIN_LENGTH, TextLine, split

PARAGRAPH = "Some words of a sentence that is as long as a line is. " * 5


def parts(text, headed=False):
    return list(split(map(TextLine._make, enumerate(text.split("\n"), 1)), headed))


@pytest.mark.parametrize("seed", range(20))
def test_the_passages_of_a_text_are_its_lines_in_order_neither_long_nor_needlessly_short(seed):
    chance = random.Random(seed)
    kinds = ["", "# A heading", "    indented " * 9, PARAGRAPH, "word " * 9, "```", "\tdef f():"]
    lines = chance.choices(kinds, k=300)
    passages, covered = parts("\n".join(lines), headed=seed % 2 == 0), set[int]()
    assert all(len(part.text) <= MAX_LENGTH for part in passages)
    assert all(len(part.text) >= MIN_LENGTH - 50 for part in passages[:-1])
    for part in passages:
        assert part.text == "\n".join(lines[part.first - 1 : part.last])
        assert not covered & set(range(part.first, part.last + 1))
        covered |= set(range(part.first, part.last + 1))
    assert {at for at, line in enumerate(lines, 1) if line.strip()} <= covered
    assert parts("") == parts("\n \n\t\n") == []


def test_a_section_begins_a_passage_rather_than_a_paragraph():
    text = "\n\n".join(["# One", *[PARAGRAPH] * 2, "## Two", *[PARAGRAPH] * 4])
    first, second = parts(text, headed=True)
    assert (first.text[-len(PARAGRAPH) :], second.text[:6]) == (PARAGRAPH, "## Two")
    assert (second.heading, second.first) == ("One", 7)


def test_a_heading_stands_over_what_is_under_it_until_the_next_of_its_kind():
    texts = [PARAGRAPH * 3] * 3
    passages = parts(
        "\n\n".join(["# One", *texts, "## Two", *texts, "## Three", *texts]), headed=True
    )
    assert [part.heading for part in passages[-3:]] == ["One", "One > Three", "One > Three"]
    assert "One > Two" in [part.heading for part in passages]


def test_a_function_is_not_cut_in_its_middle_if_it_fits():
    names = ["one", "two", "three", "four"]
    function = "def {}(self):\n    first = 1\n\n    " + "\n    ".join(["second += first"] * 45)
    passages = parts("\n\n\n".join(map(function.format, names)))
    assert [part.text.split("(")[0] for part in passages] == [f"def {name}" for name in names]


def test_a_passage_in_a_long_class_is_found_under_its_name():
    method = "    def {}(self):\n        " + "\n        ".join(["second += first"] * 40)
    passages = parts("class Great(Base):\n" + "\n\n".join(map(method.format, "abc")))
    assert [part.heading for part in passages] == ["", "class Great(Base)", "class Great(Base)"]


def test_a_comment_in_code_and_in_a_fence_is_no_heading():
    assert parts(f"# no\n\n{PARAGRAPH * 4}\n\n{PARAGRAPH * 4}")[1].heading == ""
    fenced = f"# One\n\n```\n# no\n```\n{PARAGRAPH * 4}\n\n{PARAGRAPH * 4}"
    assert parts(fenced, headed=True)[1].heading == "One"


def test_only_a_huge_line_is_cut_and_between_words():
    passages = parts("short\n" + "word " * 2_000 + "\nend")
    assert {part.first for part in passages[1:-1]} == {2}
    assert "".join(part.text for part in passages).count("word ") >= 1_990
    assert all(len(part.text) <= MAX_LENGTH for part in (*passages, *parts("x" * 10_000)))


@pytest.mark.parametrize(
    ("head", "row", "header"),
    [
        ("| city | child |\n|---|:-:|", "| Town{} | 4 |", ""),
        ("city | child\n--- | ---", "Town{} | 4", ""),
        ("+------+\n| city |\n+------+", "| Town{} |", ""),
        ("city;child", "Town{};4", "city;child"),
        ("My bank\n\ncity;child", "Town{};4", "city;child"),
    ],
)
def test_each_passage_of_a_table_has_its_header_and_what_follows_has_none(head, row, header):
    rows = [row.format(at) for at in range(400)]
    after = [] if header else ["", *[PARAGRAPH] * 9]
    lines = enumerate("\n".join([head, *rows, *after]).split("\n"), 1)
    first, *passages = split(map(TextLine._make, lines), True, (), header)
    assert first.header == ""
    wanted = {header or "\n".join(head.split("\n")[-2:])}
    in_table = [part for part in passages if part.text.startswith(row[:4])]
    assert len(in_table) > 1
    assert {part.header.rstrip("\n") for part in in_table} == wanted
    assert not after or passages[-1].header == ""


def test_a_passage_has_the_names_of_its_document_and_of_the_headings_above_and_in_it():
    text = "\n\n".join(["# One", *[PARAGRAPH] * 4, "## Two", *[PARAGRAPH] * 9])
    lines = map(TextLine._make, enumerate(text.split("\n"), 1))
    passages = [part.names for part in split(lines, True, ("file",))]
    assert passages[0] == ("file", "# One")
    assert passages[-2:] == [("file", "One", "## Two"), ("file", "One", "Two")]
