"""Attachments in the prompt: found by `@`, read, counted and removed."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from assistant.events import TokenCount
from assistant.session.attachments import ReadingLimits
from assistant.session.unsent_text import Unsent
from assistant.store.values import Attachment
from tests.tui.chat.prompt_driver import Typist, at_the_prompt
from tui.chat.prompt.file_search import entries, files_below, rank
from tui.chat.prompt.prompt_attachments import EDITABLE, PREVIEW, AttachmentsScreen
from tui.labels import byte_size


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with some files, in which the chat runs."""
    home = tmp_path / "here"
    (home / "docs").mkdir(parents=True)
    (home / "notes.txt").write_text("blackcurrants\n")
    (home / "docs" / "guide.md").write_text("# Guide\n")
    (home / "docs" / "old.md").write_text("old\n")
    (home / "data.txt").write_bytes(b"a\0b")
    monkeypatch.chdir(home)
    return home


def names(typist: Typist) -> list[str]:
    return [chip.attachment.name for chip in typist.chips]


# Picking


async def test_at_sign_enter_attaches_what_is_offered(folder: Path) -> None:
    async with at_the_prompt() as typist:
        await typist.attach("notes")
        assert typist.prompt.text == ""
        assert "notes.txt" in typist.row
        assert "13 B · ≈ 4 tokens" in typist.row
        (folder / "notes.txt").write_text("new")
        await typist.pick("", "down", "down", "up", "enter")  # data.txt is above it
        await typist.until(lambda: typist.prompt.attachments[0].text == "new")
        await typist.type("Compare it to ")
        await typist.attach("old", "tab")
        await typist.pilot.press("enter")
        (sent,) = typist.app.sent
        assert sent.text == "Compare it to docs/old.md "  # the name stays in the sentence
        assert [each.text for each in sent.attachments] == ["new", "old"]
        await typist.pick("notes")
        await typist.pilot.click(typist.prompt.picker, offset=(3, 0))
        await typist.until(lambda: typist.chips)
        assert names(typist) == ["notes.txt"]


@pytest.mark.parametrize(
    ("keys", "text"),
    [("notes\x1bx", "@notesx"), ("zzz", "@zzz"), ("b c", "@b c"), ("b\nc", "@b\nc")],
)
async def test_an_at_sign_that_names_no_file_is_text(folder: Path, keys: str, text: str) -> None:
    async with at_the_prompt() as typist:
        await typist.type("@")
        await typist.type(keys)
        if text == "@zzz":
            none = ["No text file matches “zzz” · Esc closes"]
            await typist.until(lambda: typist.offered == none)
        await typist.pilot.press("enter")
        assert typist.app.sent == [Unsent(text)]


async def test_a_path_at_which_looking_is_an_error_is_no_folder(folder: Path) -> None:
    async with at_the_prompt() as typist:
        await typist.type("@")
        typist.prompt.editor.insert(f"{'a' * 300}/")  # as in a folder that may not be entered
        await typist.until(lambda: "aaa/” · Esc" in typist.offered[0])


async def test_picker_goes_with_its_at_sign_and_is_opened_by_typing_alone(folder: Path) -> None:
    async with at_the_prompt() as typist:
        await typist.type("me@x")
        assert not typist.prompt.picker.display
        typist.prompt.drop()
        await typist.pick("n", "backspace", "backspace")
        assert (typist.prompt.text, typist.prompt.picker.display) == ("", False)
        await typist.paste("@notes")
        assert not typist.prompt.picker.display
        typist.prompt.drop()
        typist.prompt.history.load(["@notes"])
        await typist.pilot.press("up")
        assert (typist.prompt.text, typist.prompt.picker.display) == ("@notes", False)
        typist.prompt.drop()
        await typist.pick("")
        typist.at_once(*"notes", "enter")  # which chooses none of the files that were listed before
        await typist.until(lambda: typist.chips or not typist.prompt.picker.display)
        assert (typist.prompt.text, names(typist), typist.app.sent) == ("", ["notes.txt"], [])


async def test_folders_elsewhere_are_entered(folder, tmp_path, monkeypatch) -> None:
    (tmp_path / "else" / "w here").mkdir(parents=True)
    (tmp_path / "else" / "w here" / "far.txt").write_text("far")
    monkeypatch.setenv("HOME", str(tmp_path / "else"))
    for start, folder in ((f"{tmp_path}/el", f"{tmp_path}/else/"), ("~", "~/")):
        async with at_the_prompt() as typist:
            await typist.pick(start)
            await typist.pick_again(folder)
            await typist.pick_again(f"{folder}w here/")
            await typist.pilot.press("enter")
            await typist.until(lambda: typist.prompt.attachments)
            assert typist.prompt.attachments == (Attachment(f"{folder}w here/far.txt", "far"),)


async def test_a_prompt_sent_at_once_waits_for_the_file(folder: Path) -> None:
    async with at_the_prompt() as typist:
        await typist.type("Why ")
        await typist.pick("notes")
        for _ in range(2):  # as fast as a terminal sends them
            typist.prompt.editor.post_message(events.Key("enter", "\r"))
        await typist.until(lambda: typist.app.sent)
        assert [len(sent.attachments) for sent in typist.app.sent] == [1]


async def test_hostile_names_are_shown_and_not_obeyed(folder: Path) -> None:
    (folder / "\x1b]0;x\x07[bold]odd.txt").write_text("odd")
    async with at_the_prompt() as typist:
        await typist.type("See ")
        await typist.attach("odd")
        shown = "".join([*typist.offered, typist.row, typist.prompt.text])
        assert shown.count("␛]0;x␇[bold]odd.txt") >= 2
        assert "\x1b" not in shown


# Chips


async def test_backspace_in_an_empty_prompt_removes_the_last(folder: Path) -> None:
    async with at_the_prompt() as typist:
        await typist.attach("notes")
        await typist.attach("old")
        await typist.type("x")
        await typist.pilot.press("backspace", "backspace")
        assert names(typist) == ["notes.txt"]
        await typist.pilot.press("backspace", "backspace")
        assert not typist.prompt.attached.display


async def test_exact_counts_replace_the_guess(folder: Path) -> None:
    async with at_the_prompt() as typist:
        await typist.pick("notes", "enter")
        await typist.until(lambda: typist.app.wanted)
        (wanted,) = typist.app.wanted
        assert wanted.text == "blackcurrants"
        typist.prompt.attached.show_count(typist.chips[0].attachment, TokenCount(5))
        assert "5 tokens" in typist.row
        assert "≈" not in typist.row
        typist.prompt.attached.recount()  # another model
        await typist.until(lambda: len(typist.app.wanted) == 2)
        assert "≈ 4 tokens" in typist.row


async def test_too_much_for_the_context_is_said_before_it_is_sent() -> None:
    async with at_the_prompt() as typist:
        typist.prompt.attached.limits = ReadingLimits(tokens=1500)
        await typist.paste("x" * 5000)
        too_long = typist.prompt.query_one("#too-long")
        assert not too_long.display
        typist.prompt.editor.text = "y" * 5000
        await typist.until(lambda: too_long.display)
        assert str(too_long.render()).startswith("Too long: ≈ 2,500 tokens, room for 1,500.")
        typist.prompt.editor.text = ""
        await typist.until(lambda: not too_long.display)


@pytest.mark.parametrize("width", [20, 80])
async def test_chips_fit_every_width(width: int) -> None:
    async with at_the_prompt(size=(width, 24)) as typist:
        for name in ("a" * 100, "漢字" * 30, "short", "x\ny"):
            typist.prompt.attached.add(Attachment(name, "text"))
        await typist.pilot.pause()
        chips = typist.prompt.attached
        lines = chips.render().split("\n")
        assert all(line.cell_length <= chips.content_size.width for line in lines)
        assert len(lines) == chips.content_size.height


# The screen of the attachments


async def test_attachments_are_read_removed_and_inserted_by_keys() -> None:
    async with at_the_prompt() as typist:
        for name, text in (("a", "first"), ("b", "second [bold]\x1b"), ("c", "third")):
            typist.prompt.attached.add(Attachment(name, text))
        await typist.type("See: ")
        await typist.pilot.press("ctrl+l", "up")
        screen = typist.app.screen
        assert isinstance(screen, AttachmentsScreen)
        assert str(screen.detail.render()) == "second [bold]␛"
        await typist.pilot.press("d", "escape")
        assert names(typist) == ["a", "c"]
        await typist.pilot.press("ctrl+l", "up")
        typist.prompt.attached.add(Attachment("a", "first, read again"))
        await typist.until(lambda: "first, read again" in typist.text)
        await typist.pilot.press("d", "escape")
        assert names(typist) == ["c"]
        typist.prompt.attached.chips = ()
        typist.prompt.attached.add(Attachment("a", "first"))
        typist.prompt.attached.add(Attachment("c", "third"))
        await typist.pilot.press("ctrl+l", "i")
        assert names(typist) == ["a"]
        assert typist.prompt.text == "See: third"
        for name in "bc":
            typist.prompt.attached.add(Attachment(name, "more"))
        await typist.pilot.press("ctrl+l")
        for _ in "bc":
            typist.app.post_message(events.Key("delete", None))
        await typist.until(lambda: names(typist) == ["a"])
        await typist.pilot.press("delete")
        assert typist.chips == ()
        await typist.paste("x" * (EDITABLE + PREVIEW))
        await typist.pilot.press("ctrl+l", "i")
        screen = typist.app.screen
        assert isinstance(screen, AttachmentsScreen)
        assert f"… and {EDITABLE:,} characters more" in str(screen.detail.render())
        assert "too many to edit" in typist.notices[-1]
        await typist.pilot.press("escape", "backspace")
        assert names(typist) == ["pasted text"]
        typist.prompt.drop()
        await typist.pilot.press("ctrl+l")
        assert typist.notices[-1] == "Nothing is attached. Type @ to add a file."


# Files that cannot be attached


async def test_file_that_cannot_be_attached_is_explained(folder: Path) -> None:
    async with at_the_prompt() as typist:
        await typist.pick("data", "enter")
        await typist.until(lambda: typist.notices)
        assert typist.notices[0].startswith("data.txt is not text in a known encoding; only text")
        await typist.pick("notes")
        (folder / "notes.txt").unlink()
        await typist.pilot.press("enter")
        await typist.until(lambda: len(typist.notices) == 2)
        assert typist.notices[1] == "notes.txt cannot be read: No such file or directory."
        (folder / "report.pdf").write_text("%PDF-1.4")  # whose bytes happen to be text
        await typist.pilot.press("escape", "ctrl+u")
        await typist.pick("./report.pdf")
        assert typist.offered == ["./report.pdf"]
        await typist.pilot.press("enter")
        await typist.until(lambda: len(typist.notices) == 3)
        assert typist.notices[2].startswith("./report.pdf is malformed")
        assert "report.pdf" in files_below(folder)
        assert typist.chips == ()


# Finding files


def test_folders_of_machines_and_links_to_folders_are_not_searched(folder: Path) -> None:
    for skipped in (".git", "node_modules", ".venv", "a/__pycache__"):
        (folder / skipped).mkdir(parents=True)
        (folder / skipped / "x.txt").write_text("x")
    (folder / "around").symlink_to(folder)
    (folder / "loop").symlink_to("loop")  # looking where it leads is an error
    (folder / "picture.PNG").write_text("x")
    assert files_below(folder) == ("data.txt", "notes.txt", "docs/guide.md", "docs/old.md")
    assert files_below(folder / "gone") == ()
    assert entries(f"{folder}/")[:2] == ("a/", "around/")


def test_a_file_that_git_ignores_is_not_offered(folder: Path) -> None:
    subprocess.run(["git", "init", "-q"], check=True, cwd=folder)
    (folder / ".gitignore").write_text("docs/\nnotes*\n")
    assert files_below(folder) == (".gitignore", "data.txt")
    assert files_below(folder / "docs") == ("guide.md", "old.md")  # where all of it is ignored


def test_sizes_are_said_in_few_digits() -> None:
    sizes = [byte_size("x" * count) for count in (0, 999, 1000, 999_950)]
    assert sizes == ["0 B", "999 B", "1.0 kB", "1 MB"]


def test_name_itself_counts_more_than_its_folders() -> None:
    files = ["application/x.py", "a/p/p.py", "tui/app.py", "app.pyi", "tui/App.css"]
    assert [match.name for match in rank(files, "app", 9)][:2] == ["app.pyi", "tui/app.py"]
    assert {match.name for match in rank(files, "app", 9)} == set(files)
    names = [match.name for match in rank(["docs/old.md", "[bold]odd.txt"], "odd", 9)]
    assert names == ["[bold]odd.txt", "docs/old.md"]  # where they stand together


@given(st.lists(st.text("abC/İ", max_size=12)), st.text("abci", min_size=1, max_size=4))
def test_a_match_has_the_letters_in_order(files: list[str], typed: str) -> None:
    for match in rank(files, typed, 100):
        assert list(match.marked) == sorted(set(match.marked))
        assert len(match.marked) == len(typed)
        assert [match.name[mark].lower()[0] for mark in match.marked] == list(typed)
