"""`folder_retriever`: the passages that fit stand before a question, and lacks are noted."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from time import time

import pytest

from assistant.engine.model_profile import ModelProfile
from assistant.engine.profile import PROFILES
from assistant.passages import folder_index
from assistant.passages.folder_index import IndexProgress
from assistant.session import folder_retriever
from assistant.session.events import Changed, Preparing
from assistant.session.messages import CITING
from assistant.settings.settings import Settings
from assistant.store.values import Attachment
from models.errors import StorageError
from models.files.disk import Records
from models.files.places import cache_dir
from tests.assistant.passages.indexes import update_here, updated_after
from tests.assistant.session.scripted_session import MODEL, ScriptedSession
from tests.patience import WAIT_S

NOTES = Attachment("notes/", "")
BIRDS = "Zeppelins are moored at dusk in the harbour of Lima.\n"
FISH = "A walrus eats clams, and sleeps on ice.\n"


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two files, in the folder that the program runs in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(folder_index, "update", update_here)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "air.md").write_text(f"# Air\n\n{BIRDS}")
    (folder / "sea.md").write_text(f"# Sea\n\n{FISH}")
    return folder


def stage(settings: Settings | None = None, n_ctx: int = MODEL.n_ctx) -> ScriptedSession:
    made = ScriptedSession(settings=settings or Settings())
    made.session.ready(replace(MODEL, n_ctx=n_ctx))
    return made


async def read(made: ScriptedSession, *names: str) -> None:
    await made.session.folders.read(names or ("notes/",))


async def ask(made: ScriptedSession, text: str, *attachments: Attachment, count: int = 1) -> str:
    """Ask, wait until the engine is asked, and return what it reads as the question."""
    made.session.submit(text, attachments)
    return await requested(made, count)


async def requested(made: ScriptedSession, count: int) -> str:
    """Wait until the engine is asked that often; return what it reads as the question."""
    async with asyncio.timeout(WAIT_S):
        while len(made.requests) < count:
            await asyncio.sleep(0.01)
    await made.rest()
    return made.requests[-1].messages[-1].content


async def test_passages_that_fit_stand_before_the_question_with_their_path() -> None:
    made = stage()
    content = await ask(made, "Where are zeppelins moored?", NOTES)
    place, _, rest = content.partition("\n")
    assert place.startswith("[1] notes/air.md:")
    assert BIRDS.strip() in rest
    assert "walrus" not in content
    assert content.endswith(f"{CITING}\n\nWhere are zeppelins moored?")
    assert made.notes == []
    await made.answer("In Lima [1], says [2].")
    assert made.session.branch.store is not None
    question, answer = made.session.branch.store.path(made.session.branch.conversation or 0)
    assert [each.number for each in question.attachments] == [0, 1]
    (source,) = answer.attachments
    assert (source.number, source.name, source.text) == (1, "notes/air.md", "")
    assert made.emitted(Changed)[-1].record.attachments == answer.attachments


async def test_the_next_question_repeats_no_passage_and_an_answer_may_cite_an_earlier_one() -> None:
    made = stage()
    await ask(made, "Where are zeppelins moored?", NOTES)
    await made.answer("In Lima [1].")
    content = await ask(made, "Are zeppelins moored at dusk?", NOTES, count=2)
    assert content.startswith("[1] notes/air.md:")
    assert BIRDS.strip() not in content
    await made.answer("Yes [1].")
    assert [each.number for each in made.session.branch.records[-1].attachments] == [1]


async def test_another_answer_is_to_the_same_passages(notes: Path) -> None:
    made = stage()
    content = await ask(made, "Where are zeppelins moored?", NOTES)
    await made.answer("In Lima [1].")
    (notes / "air.md").unlink()
    await read(made)
    made.session.answer_again(made.session.branch.records[-1])
    assert await requested(made, 2) == content


async def test_a_question_without_a_fitting_passage_is_noted() -> None:
    made = stage()
    assert await ask(made, "How is bread baked?", NOTES) == "How is bread baked?"
    assert made.notes == ["Nothing in notes/ is about this; answered without it."]
    await made.answer("In an oven [1].")
    assert made.session.branch.records[-1].attachments == ()


async def test_the_word_searched_instead_of_a_misspelled_one_is_noted() -> None:
    made = stage()
    assert BIRDS.strip() in await ask(made, "Where are zepelins mooored?", NOTES)
    assert made.notes == [
        "“zepelins” is nowhere there; “zeppelins” was looked for.",
        "“mooored” is nowhere there; “moored” was looked for.",
    ]


async def test_two_versions_of_a_passage_are_both_shown_and_dated(notes: Path) -> None:
    rule = "The boiler in the cellar of the house by the sea has to be looked at every {} days."
    for name, days, changed in (("old", 30, 1), ("new", 14, 2)):
        text = " ".join([rule.format(days), *["And so on, and on."] * 9])
        (notes / f"{name}.md").write_text(text)
        os.utime(notes / f"{name}.md", ns=(changed, changed))
    made = stage(n_ctx=4 * folder_retriever.PASSAGE)
    content = await ask(made, "How often is the boiler looked at?", NOTES)
    assert "every 30 days" in content
    assert "every 14 days" in content
    assert "notes/new.md:1 (newer than old.md):" in content
    assert "notes/old.md:1 (older than new.md):" in content


async def test_the_last_questions_count_in_the_search_for_the_next_one(notes: Path) -> None:
    for beast in ("okapi", "lemur", "tapir"):
        (notes / f"{beast}.md").write_text(f"The {beast} costs money. Its food costs more money.")
    made = stage()
    for count, text in enumerate(["What does the lemur cost?", "Thanks.", "And its food?"], 1):
        content = await ask(made, text, NOTES, count=count)
        await made.answer("It is written there.")
    assert [part[:5] for part in content.split("notes/")[1:]] == ["okapi", "lemur"]


async def test_folders_of_the_settings_are_searched_for_every_question(notes: Path) -> None:
    made = stage(Settings(about=(notes,)))
    assert f"{notes}/air.md:" in await ask(made, "Where are zeppelins moored?")


@pytest.fixture
def is_read(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Have the folder be read only once this is set."""
    event = asyncio.Event()
    monkeypatch.setattr(folder_index, "update", updated_after(event))
    return event


async def test_a_question_waits_for_its_folder_and_can_be_replaced(is_read: asyncio.Event) -> None:
    made = stage()
    for text in ("What does a walrus eat?", "Where are zeppelins moored?"):
        made.session.submit(text, [NOTES])
        await asyncio.sleep(3 * folder_retriever.POLL_S)
        assert made.emitted(Preparing)[-1].text == "reading notes/: 0 of 2 files"
        assert made.requests == []
        made.session.stop()
        assert made.restored_inputs[-1] == text
    assert await ask(made, "Why?") == "Why?"  # of no folder
    await made.answer("Because.")
    made.session.submit("Where are zeppelins moored?", [NOTES])
    is_read.set()
    assert BIRDS.strip() in await requested(made, 2)
    assert made.notes == []


CALM = "The wind is weak in the morning, and it turns at noon.\n" * 12
ASKED = Attachment("air.md", f"# Air\r\r{BIRDS}{CALM}\n# Sea\n\n{FISH * 30}").by_passages


async def test_a_text_is_asked_by_its_passages_which_keep_their_lines() -> None:
    made = stage(n_ctx=8192)
    content = await ask(made, "Where are zeppelins moored?", ASKED)
    assert content.startswith("[1] air.md:1-15:\n```\n# Air")
    assert "clams" not in content
    await made.answer("In Lima [1].")
    question, _ = made.session.branch.records
    assert question.attachments[0] == ASKED  # so that it can be asked again
    assert ASKED.title == "air.md (by passages)"
    content = await ask(made, "Where are zeppelins moored at dusk?", ASKED, count=2)
    assert content.startswith("[1] air.md:1-15: see above.")
    await made.answer("In Lima [1].")
    assert made.notes == []


async def test_passages_of_a_pdf_have_its_pages() -> None:
    made = stage(n_ctx=8192)
    book = Attachment("air.pdf", f"{CALM}\f{CALM}\n{CALM}\f{BIRDS}{CALM}").by_passages
    content = await ask(made, "Where are zeppelins moored?", book)
    assert content.startswith("[1] air.pdf:2-3:\n```\n")  # it would be lines 13 to 38


async def test_a_text_and_folders_are_searched_together_each_passage_once(notes: Path) -> None:
    made = stage(n_ctx=8192)
    again = Attachment(f"{notes}/", "")
    content = await ask(made, "Where are zeppelins moored?", NOTES, again, ASKED)
    assert "] notes/air.md:1" in content
    assert "] air.md:1" in content
    assert content.count(BIRDS) == 2


@pytest.mark.parametrize("n_ctx", [8192, 500])
async def test_a_text_without_a_fitting_passage_is_needed_as_a_whole_once(n_ctx: int) -> None:
    made = stage(n_ctx=n_ctx)
    needed = "No passage of air.md fits the question, so all is needed."
    assert ASKED.text in await ask(made, "Summarise this.", ASKED)  # or the engine refuses it
    await made.answer("Beasts.")
    await ask(made, "Thanks.", ASKED, count=2)
    without = "Nothing in air.md is about this; answered without it."
    assert made.notes[:2] == [needed, needed if n_ctx > 500 else without]


async def test_a_folder_that_is_gone_is_named(notes: Path) -> None:
    made = stage()
    await read(made)
    notes.rename(notes.with_name("elsewhere"))
    await ask(made, "Where are zeppelins moored?", NOTES)
    assert made.notes[0] == "notes/ is missing, or is not a folder."


async def test_a_question_withdrawn_during_the_search_is_not_answered() -> None:
    made = stage()
    await read(made)
    made.session.submit("Where are zeppelins moored?", [NOTES])
    await asyncio.sleep(0)
    made.session.stop()
    await asyncio.wait_for(made.running, WAIT_S)
    assert made.restored_inputs == ["Where are zeppelins moored?"]
    assert made.requests == []
    assert made.session.branch.records == ()


async def test_the_count_of_passages_follows_the_reading_speed(notes: Path, tmp_path: Path) -> None:
    for number in range(20):
        (notes / f"{number}.md").write_text(f"Zeppelin {number} flies to town {number * 7}. " * 50)
    made, model = stage(Settings(about_seconds=4)), tmp_path / "tiny.gguf"
    model.write_bytes(b"")
    await read(made)
    info = replace(MODEL, path=model, n_ctx=100_000)
    status = model.stat()

    async def count(token_s: float, info=info) -> int:
        key = f"verify | {status.st_size} {status.st_mtime_ns} | "
        profile = ModelProfile([1.0], {1: [1.0]}, prompt_token_s=token_s)
        Records(cache_dir(), PROFILES, ModelProfile).put(key, profile)
        question = made.session.branch.question("Where do zeppelins fly?", [NOTES])
        (_, *hits), _ = await made.session.folders.find(question, (), info)
        return len(hits)

    assert await count(0.9) == folder_retriever.MIN_PASSAGES
    assert await count(4 / folder_retriever.PASSAGE / 5.5) == 5
    assert await count(1e-6) > 10
    assert await count(1e-6, replace(info, n_ctx=6 * folder_retriever.PASSAGE)) == 3


async def test_the_progress_of_indexing_is_shown_and_its_result_once(notes: Path) -> None:
    for name in "pqr":
        (notes / f"{name}.md").symlink_to("/dev/null")
    made = stage()
    await read(made)
    assert "reading notes/: 1 of 2 files" in [each.text for each in made.emitted(Preparing)]
    await read(made)
    reports = [each.text for each in made.emitted(Preparing) if each.fraction is None]
    assert reports[0].startswith("notes/ can be asked about: 2 files. Left out: 3. ")
    assert reports[0].endswith("p.md (and 2 more) is a link out of the folder.")
    assert reports[1:] == [""]


async def test_a_folder_in_which_nothing_has_changed_is_not_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = stage()
    folders = made.session.folders
    assert folders.claim_stale([NOTES]) == ("notes/",)
    assert folders.claim_stale([NOTES]) == ()
    await folders.read(["notes/"])
    assert folders.claim_stale([NOTES]) == ()
    monkeypatch.setattr(folder_index, "update", None)
    assert "moored" in await ask(made, "Where are zeppelins moored?", NOTES)
    monkeypatch.setattr(folder_retriever, "FRESH_S", -1.0)
    assert folders.claim_stale([NOTES]) == ("notes/",)


@pytest.mark.parametrize("change", ["edited", "added", "renamed"])
@pytest.mark.parametrize("ahead_s", [0, 7200])  # by which the clock was wrong
async def test_a_question_sees_what_has_changed_a_moment_before(
    notes: Path, change: str, ahead_s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = stage()
    with monkeypatch.context() as clock:
        clock.setattr(folder_retriever, "time", lambda: time() + ahead_s)
        assert "moored" in await ask(made, "Where are zeppelins moored?", NOTES)
    await made.answer("In Lima [1].")
    file, text = notes / "air.md", "Zeppelins are moored at the Nordholz hangar."
    if change == "edited":
        file.write_text(f"A line above.\n\n{text}\n")
    elif change == "added":
        (notes / "new.md").write_text(text)
    else:
        file.rename(notes / "new.md")
    asked = await ask(made, "Where exactly are zeppelins moored?", NOTES, count=2)
    found = {"edited": "air.md:1-3:\n```\nA line", "added": "new.md:1:", "renamed": "new.md:1-3:"}
    assert found[change] in asked


async def test_an_index_that_fails_is_not_an_empty_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def update(folder: Path, cache: Path) -> AsyncIterator[IndexProgress]:
        raise StorageError("The index cannot be written.")
        yield

    monkeypatch.setattr(folder_index, "update", update)
    made = stage()
    await ask(made, "Where are zeppelins moored?", NOTES)
    assert made.notes == [
        "The index cannot be written.",
        "notes/ could not be read to its end.",
        "Nothing that was read in notes/ is about this; answered without it.",
    ]
    assert made.emitted(Preparing)[-1] == Preparing("", None)
