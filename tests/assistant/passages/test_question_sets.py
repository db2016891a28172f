"""Of many questions to two folders nearly all find their passage; what is not there is not."""

from tests.assistant.passages.question_sets import hits, index, questions, write_asked, write_kinds


async def test_the_right_files_are_among_five_and_what_is_not_there_is_not_claimed(tmp_path):
    write_asked(tmp_path)
    await index(tmp_path)
    wrong: dict[str, list[object]] = {"there": [], "none": []}
    for kind, files, text in questions("asked"):
        names = {name for name, _ in await hits(tmp_path, text.split(" // "))}
        is_right = {*files.split()} <= names if names else kind in ("none", "foreign")
        wrong["none" if kind == "none" else "there"] += [] if is_right else [(text, names)]
    assert len([*questions("asked")]) == 152
    assert len(wrong["none"]) <= 2, wrong  # of 20
    assert len(wrong["there"]) <= 3, wrong


async def test_of_questions_and_tasks_to_files_of_all_kinds_nearly_all_find_the_passage(tmp_path):
    write_kinds(tmp_path)
    await index(tmp_path)
    wrong = []
    for name, contents, text in questions("kinds"):
        needed, _, unwanted = contents.partition(" not ")
        passages = await hits(tmp_path, [text])
        assert passages, text
        own = [text for path, text in passages if path == name]
        fits = any(all(word in text for word in needed.split(" & ")) for text in own)
        if not fits or (unwanted and any(unwanted in text for text in own)):
            wrong.append((text, passages))
    assert len([*questions("kinds")]) == 100
    assert len(wrong) <= 5, wrong
