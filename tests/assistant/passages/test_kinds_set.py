"""In a folder of 42 kinds of files questions and tasks find the row with its header."""

from tests.assistant.passages.kinds_set import answers

LEAST = 95


async def test_of_questions_and_tasks_to_files_of_all_kinds_nearly_all_find_the_passage(tmp_path):
    results = await answers(tmp_path / "folder")
    assert len(results) == 100
    assert [each.text for each, passages in results.items() if not passages] == []
    assert sum(each.is_right(passages) for each, passages in results.items()) >= LEAST
