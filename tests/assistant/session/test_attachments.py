"""Attachments: which files are read, and the message that the model gets."""

import os
import re
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.passages.file_lines import SCANNED
from assistant.prompt.context import fit
from assistant.session.attachments import LIMIT, read
from assistant.session.messages import join_message, messages_of
from assistant.store.values import Attachment, StoredMessage
from models.errors import UsageError
from tests.assistant.passages.indexes import with_worker
from tests.assistant.passages.papers import docx, pdf


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    return tmp_path


def test_unreadable_files_are_explained(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.pdf")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for name in ("pipe", "pipe.pdf", "socket", "docs", "/dev/zero"):
            with pytest.raises(UsageError, match="is not a file"):
                read(Path(name))
    with pytest.raises(UsageError, match="not the name of a file"):
        read(Path("a\0b"))
    (folder / "loop").symlink_to("loop")
    for name in ("loop", f"{'a' * 300}/"):
        with pytest.raises(UsageError, match="cannot be read"):
            read(Path(name), name)


def test_file_that_is_too_big_is_explained(folder: Path) -> None:
    with (folder / "big.txt").open("wb") as file:
        file.truncate(LIMIT + 1)
    with pytest.raises(UsageError, match=r"^big.txt has more than 10 MB; use a part of it.$"):
        read(Path("big.txt"))


@pytest.mark.parametrize(("data", "text"), [(b"\xef\xbb\xbfa\r\nb\n\n", "a\r\nb"), (b"", "")])
def test_files_are_read_as_text_without_its_last_line_ends(folder, data, text) -> None:
    (folder / "x").write_bytes(data)
    assert read(Path("x")) == Attachment("x", text)


def test_a_document_is_read_as_the_text_of_its_pages(folder: Path) -> None:
    (folder / "a.PDF").write_bytes(pdf("The rent is 830 euros.", "", "The key.", "[scan]"))
    assert read(Path("a.PDF")).text == f"The rent is 830 euros.\n\f\fThe key.\n\f{SCANNED}"
    (folder / "m.eml").write_text("Content-Transfer-Encoding: base64\n\naGk=")
    assert read(Path("m.eml")).text == "# \n\nhi"
    (folder / "b.docx").write_bytes(docx("# Garden\nWater the roses."))
    assert read(Path("b.docx"), "./b.docx") == Attachment("./b.docx", "# Garden\nWater the roses.")


def test_a_document_without_readable_text_is_explained(folder, monkeypatch) -> None:
    (folder / "a.pdf").write_text("%PDF-1.4")
    with pytest.raises(UsageError, match=r"^a.pdf is malformed: Failed to load document .*\)\.$"):
        read(Path("a.pdf"))
    with pytest.raises(UsageError, match=r"^b.pdf cannot be read: No such file or directory\.$"):
        read(Path("b.pdf"))
    with pytest.raises(UsageError, match=r"^a\0.pdf cannot be read: embedded null byte\.$"):
        read(Path("a\0.pdf"))
    with_worker(monkeypatch, "os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(UsageError, match=r"^a.pdf takes too long to read, or crashes"):
        read(Path("a.pdf"))


@given(st.lists(st.text("`a\n", max_size=12)), st.sampled_from(["Why?", " "]))
def test_texts_come_before_the_words_and_none_ends_its_fence(texts: list[str], words: str) -> None:
    message = join_message(words, [Attachment("x", text) for text in texts])
    ends = r"(?=\n\nx:\n`|\n\nWhy\?\Z|\Z)"
    fenced = re.findall(rf"(?:^|\n\n)x:\n(`{{3,}})\n(.*?)\n\1{ends}", message, re.DOTALL)
    assert [text for _, text in fenced] == texts
    assert all(fence not in text for fence, text in fenced)


def test_a_file_that_is_said_to_stand_above_was_not_dropped() -> None:
    """Of a table of numbers, every digit may be a token."""
    file, n_ctx = Attachment("table.csv", "0123456789\n" * 80), 4096
    question = StoredMessage(0, None, "user", "?", 0.0, "complete", attachments=(file,))
    path = [question]
    for number in range(1, 30):
        answer = StoredMessage(number, None, "assistant", "1,234,567;" * 20, 0.0, "complete")
        path.append(answer)
        again = replace(question, id=number + 100)
        messages = messages_of([*path, again], "", "", n_ctx)
        tokens, _ = fit(
            messages, lambda turns: [*map(ord, "".join(m.content for m in turns))], n_ctx
        )
        assert file.text in "".join(map(chr, tokens))
        path.append(replace(again, attachments=()))


@pytest.mark.parametrize(
    ("versions", "sent"),
    [
        ("aa", "a-"),
        ("aaa", "a--"),
        ("ab", "ab"),
        ("aba", "aba"),  # as after an undo: the latest version counts
        ("abb", "ab-"),
    ],
)
def test_a_file_that_is_attached_again_unchanged_is_sent_once(versions: str, sent: str) -> None:
    path = [
        StoredMessage(i, None, "user", "?", 0.0, "complete", attachments=(file,))
        for i, file in enumerate(Attachment("f.txt", text * 99) for text in versions)
    ]
    answers = [StoredMessage(i, None, "assistant", "!", 0.0, "complete") for i in range(9, 13)]
    turns = [record for pair in zip(path, answers, strict=False) for record in pair]
    questions = [m.content for m in messages_of(turns, "", "", 8192) if m.role == "user"]
    for text, question in zip(sent, questions, strict=True):
        assert ("f.txt is unchanged, see above." in question) == (text == "-")
        assert (text * 99 in question) == (text != "-")
    assert not any("unchanged" in m.content for m in messages_of(turns, "", "", 60))
