"""Of 120 questions to a folder nearly all find their passage; 20 others find nothing."""

from collections import Counter

from tests.assistant.passages.asked_set import answers, questions

LEAST = 0.95
NOTHING = 18


async def test_the_right_passages_are_among_five_and_what_is_not_there_is_not_claimed(tmp_path):
    results = await answers(tmp_path / "folder")
    right = Counter(each.kind for each, names in results.items() if each.is_right(names))
    kinds = Counter(each.kind for each in questions())
    assert kinds.total() == 140
    assert right.pop("none") >= NOTHING
    assert right.total() >= LEAST * 120
