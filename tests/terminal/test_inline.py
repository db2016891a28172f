"""`specchat --inline`: the chat in the terminal's own scrollback."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyte
import pytest

from assistant.events import Origin
from assistant.request import ToolCall
from assistant.session.unsent_text import OPEN
from assistant.settings.settings import Settings
from assistant.store.store import Store
from assistant.store.values import Attachment, StoredMessage
from tests import ROOT, tiny
from tests.stored import ask, begin, end
from tests.terminal.recording import customised
from tests.terminal.terminal import BROKEN, DONE, ESCAPE, Terminal
from tui.inline.chat import WELCOME
from tui.inline.plain_terminal import PROMPT
from tui.inline.program import is_vi
from tui.safe import safe
from tui.text.text_layout import TextLayout

CTRL_D = "\x04"
READY = "is ready."
MARKDOWN = """# A *heading*

Some **bold** words, `code`, 漢字 and 🙂, and a line that is long enough to be wrapped in any case.

1. one
2. two

```python
def f(x):
    return x
```

| a | b |
|---|---|
| 1 | 2 |
"""


class Inline(Terminal):
    """The program, and a terminal that remembers what scrolls away."""

    def __init__(self, home: Path, *arguments: str, **options: Any) -> None:
        options = {"XTERM_VERSION": "cuts", "PYTHONPATH": str(ROOT), **options}
        super().__init__(home, "--inline", *arguments, **options)
        columns, lines = options.get("size", (100, 30))
        self._screen = self._all = pyte.HistoryScreen(columns, lines, history=100_000, ratio=1.0)
        self._stream = pyte.ByteStream(self._screen)

    def enter(self, line: str, *texts: str) -> None:
        """Type a line, and wait for what it brings up."""
        self.press(f"{line}\r")
        self.shows(*texts)

    def go_on(self) -> None:
        """Wait until an answer is under way."""
        self.press("Go on\r")
        self.streams()

    def stop(self, *texts: str) -> None:
        """Stop the answer, and wait for what is shown then."""
        self.press(ESCAPE)
        self.shows("stopped · ", *texts)

    @property
    def scrollback(self) -> list[str]:
        """All lines, also those that have scrolled away."""
        width, gone = self._all.columns, self._all.history.top
        lines = ["".join(line[x].data for x in range(width)).rstrip() for line in gone]
        return [*lines, *self.text.split("\n")]

    def quit(self) -> None:
        self.leave()

    def leave(self) -> list[str]:
        """Leave; return the scrollback without blank lines."""
        self.press(CTRL_D)
        assert self.end() == 0, self.text
        return [line for line in self.scrollback if line]


@contextmanager
def inline(home: Path, *arguments: str, **options: Any) -> Iterator[Inline]:
    """Run the program until the test has ended it, or else leave it."""
    with Inline(home, *arguments, **options) as terminal:
        terminal.shows(READY)
        yield terminal


def store_at(home: Path) -> Store:
    (home / "home").mkdir(exist_ok=True)
    return Store(home / "home" / "chats.db")


def messages(home: Path) -> list[StoredMessage]:
    """Return the messages of the first conversation."""
    with closing(store_at(home)) as store:
        return [*store.path(1)]


def stored(home: Path, answer: str, *files: Attachment, calls: Sequence[ToolCall] = ()) -> None:
    """Store a conversation, the first one, with this answer."""
    with closing(store_at(home)) as store:
        number = store.create("A chat")
        question = ask(store, number, None, "The question", files)
        begun = begin(store, number, question.id, "tiny")
        end(store, begun.id, answer, stop="stop-token", tool_calls=tuple(calls))


def shown(text: str, width: int) -> list[str]:
    """The lines of a text as it is formatted, without blank ones."""
    layout = TextLayout(width - 1)
    layout.add([(safe(text), Origin.TARGET)])
    return [line for found in layout.lines if (line := found.content.plain.rstrip())]


def test_the_scrollback_holds_the_stored_messages_once(tmp_path: Path, models: list[str]) -> None:
    with inline(tmp_path, *models, "--max-tokens", "150") as terminal:
        terminal.press("First\r")
        terminal.streams()
        terminal.press("Second\r")
        terminal.until(lambda _: sum(DONE in line for line in terminal.scrollback) == 2)
        lines = terminal.leave()
        first, answer, second, other = messages(tmp_path)
        assert (first.content, second.content) == ("First", "Second")
        with closing(store_at(tmp_path)) as store:
            assert store.recall(OPEN) == "1"
        begun = lines.index("› First")
        assert lines[0] == WELCOME
        expected = ["› First", *shown(answer.content, 100), None, "› Second"]
        expected += [*shown(other.content, 100), None]
        assert len(lines) - begun == len(expected)
        for line, known in zip(lines[begun:], expected, strict=True):
            assert line == known if known is not None else DONE in line


def test_a_terminal_that_grows_shows_every_line_once(tmp_path: Path, slow: list[str]) -> None:
    with inline(tmp_path, *slow, size=(40, 30)) as terminal:
        terminal.go_on()
        for size in ((60, 30), (75, 30), (100, 30)):
            terminal.resize(*size)
            some = terminal.text.count(BROKEN)
            terminal.until(lambda screen: screen.count(BROKEN) > some + 20)  # noqa: B023
        terminal.stop(DONE)
        lines = terminal.leave()
        begun = lines.index("› Go on")
        ended = next(i for i, line in enumerate(lines) if DONE in line)
        text = "".join("".join(lines[begun + 1 : ended]).split())
        known = "".join("".join(shown(messages(tmp_path)[1].content, 100)).split())
        assert text == known, lines


def test_an_editor_has_the_terminal_its_text_waits_and_a_stop_restores_it_and_keeps_the_answer(
    tmp_path: Path, slow: list[str]
) -> None:
    editor, opened, closes = (tmp_path / name for name in ("editor", "opened", "closes"))
    waits = f"touch {opened}; while [ ! -e {closes} ]; do sleep 0.1; done"
    editor.write_text(f'#!/bin/sh\n{waits}; echo Later > "$1"')
    editor.chmod(0o700)
    with inline(tmp_path, *slow, VISUAL=str(editor)) as terminal:
        terminal.go_on()
        os.write(terminal.master, b"\xff\x18\x05")  # no text, then Ctrl+X Ctrl+E
        terminal.until(lambda _: opened.exists())
        while terminal.read(0):
            pass
        assert not terminal.read(1.0)
        closes.touch()
        terminal.shows("1 waiting")
        terminal.stop(f"{PROMPT}Later")
        terminal.press("\x03")
        terminal.until(lambda screen: f"{PROMPT}Later" not in screen)
        assert any(BROKEN in line for line in terminal.leave())


def test_a_conversation_is_opened_formatted_at_any_width(tmp_path: Path, models: list[str]) -> None:
    stored(tmp_path, MARKDOWN)
    for width in (40, 100):
        with inline(tmp_path, *models, size=(width, 30)) as terminal:
            terminal.enter("/open 1", "› The question", "two", "def f(x):")
            # pyte has an empty cell after a wide character.
            lines = "\n".join(terminal.leave()).replace(" ", "")
            known = "\n".join(["› The question", *shown(MARKDOWN, width)])
            assert known.replace(" ", "") in lines


def test_an_answer_unsent_text_and_queued_questions_are_there_after_a_kill(
    tmp_path: Path, slow: list[str], models: list[str]
) -> None:
    (tmp_path / "a.txt").write_text("A")
    with inline(tmp_path, *slow) as terminal:
        terminal.go_on()
        terminal.enter("Next @a.txt", "1 waiting")
        terminal.press("half a sen")
        unsent = "unfinished, conversation 1"
        with closing(store_at(tmp_path)) as store:
            terminal.until(lambda _: "half a sen" in (store.recall(unsent) or ""))
        terminal.until(lambda _: BROKEN in messages(tmp_path)[-1].content)
        terminal.until(lambda _: (tmp_path / "home/ngrams").exists())  # learnt from answers
        terminal.process.kill()
        terminal.process.wait()
    with inline(tmp_path, *models) as terminal:
        assert "half" not in terminal.text  # in a new conversation
        terminal.press("\x1b[A")
        terminal.shows(f"{PROMPT}Go on")
        terminal.press("\x03")
        terminal.enter("/open 1", "› Go on", BROKEN, "interrupted: the program ended")
        terminal.shows("half a sen", "1 waiting")
        terminal.press("tence\r")
        terminal.until(lambda _: sum(DONE in line for line in terminal.scrollback) == 2)
        assert [m.content for m in messages(tmp_path) if m.role == "user"] == [
            "Go on", "half a sentence", "Next @a.txt",
        ]  # fmt: skip


def test_a_change_of_a_question_that_is_left_is_there_again(
    tmp_path: Path, models: list[str]
) -> None:
    stored(tmp_path, "The answer")
    with inline(tmp_path, *models) as terminal:
        terminal.enter("/open 1", "The answer")
        terminal.enter("/edit", f"{PROMPT}The question")
        terminal.press(" changed")
        terminal.shows("The question changed")
        terminal.press("\x03")
        terminal.shows("Your change is kept; /edit continues it.")
        terminal.until(lambda text: "changed" not in text)
        terminal.enter("/edit", f"{PROMPT}The question changed")
        terminal.press("\x03")


def test_a_long_paste_and_a_dropped_file_are_attached(tmp_path: Path, models: list[str]) -> None:
    (file := tmp_path / "b c.txt").write_text("B")
    with inline(tmp_path, *models, "--max-tokens", "5") as terminal:
        terminal.paste("\n".join(f"line {number}" for number in range(400)))
        terminal.shows("Attached to the next question: pasted text")
        terminal.paste("a\nb")
        terminal.enter("", "› a", "  with pasted text", "The question takes", f"{PROMPT}a")
        terminal.press("\x03Read:")
        terminal.paste(file.as_uri())
        terminal.shows(f"{PROMPT}Read: @{file}")
        terminal.press("\x03")


def test_a_change_is_shown_written_and_taken_back(tmp_path: Path, models: list[str]) -> None:
    old = "".join(f"line {number}\n" for number in range(8))
    new = old.replace("line 3", "line three")
    file = tmp_path / "file.txt"
    file.write_text(old)
    stored(tmp_path, f"```txt\n{new}```\n", Attachment("file.txt", old.rstrip("\n")))
    with inline(tmp_path, *models, "--max-tokens", "5", cwd=tmp_path) as terminal:
        terminal.enter("/open 1", "/apply writes file.txt.")
        terminal.enter("/apply", "-line 3", "+line three", "Write /")
        terminal.enter("", "Not written.")
        assert file.read_text() == old
        terminal.press("/apply\r")
        terminal.until(lambda screen: screen.count("Write /") == 2)
        terminal.enter("y", "Written: file.txt.")
        assert file.read_text() == new
        terminal.press("/undo\r")
        terminal.until(lambda screen: "as it was" in " ".join(screen.split()))  # a path is long
        assert file.read_text() == old
        terminal.until(lambda screen: screen.count("Attached to the next question: file.txt") == 2)
        terminal.enter("Next", "› Next", "  with file.txt", DONE)
        attached = Attachment("file.txt", old.rstrip("\n"))
        assert messages(tmp_path)[2].attachments == (attached,)


SLOW_COMPLETION = """
import time
from tui.inline.commands import SlashCommands
completions = SlashCommands.get_completions
def slowly(self, document, event):
    time.sleep(3)
    yield from completions(self, document, event)
SlashCommands.get_completions = slowly
"""


def test_enter_sends_while_completions_are_looked_for(tmp_path: Path, models: list[str]) -> None:
    with inline(tmp_path, *models, **customised(tmp_path, SLOW_COMPLETION)) as terminal:
        terminal.press("/new")
        terminal.shows(f"{PROMPT}/new")
        terminal.enter("", "A new conversation.")


def test_a_name_after_an_at_sign_is_attached_or_text(tmp_path: Path, models: list[str]) -> None:
    (tmp_path / "file.txt").write_text("blue")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "air.md").write_text("Zeppelins are moored at dusk.")
    with inline(tmp_path, *models, "--max-tokens", "5", cwd=tmp_path) as terminal:
        question = f"Meet @ noon, @{'a' * 300}, read @file.txt."
        terminal.enter(question, "› Meet @ noon", "  with file.txt", DONE)
        terminal.enter("/attach notes", "Attached to the next question: notes/")
        terminal.enter("/attach", "Nothing is attached.")
        terminal.press("More\r")
        terminal.until(lambda screen: screen.count(DONE) == 2)
        assert "  with notes/" not in terminal.text
        terminal.press("Where are zeppelins moored, by @notes?\r")  # which waits until it is read
        terminal.until(lambda screen: screen.count(DONE) == 3)
        terminal.enter(f"/open {'9' * 30}", "There is no conversation 9999")
        terminal.shows("notes/ can be asked about: 1 file.")
        *_, about, _ = messages(tmp_path)
        assert [file.title for file in about.attachments] == ["notes/", "[1] notes/air.md:1"]


def test_no_conversation_is_opened_during_an_answer(tmp_path: Path, slow: list[str]) -> None:
    stored(tmp_path, MARKDOWN)
    with inline(tmp_path, *slow) as terminal:
        terminal.go_on()
        terminal.press("/open 1\r/new\r")
        terminal.until(lambda _: "".join(terminal.scrollback).count("Esc stops the") == 2)
        terminal.stop()
        terminal.enter("/open 1", "› The question")


@pytest.mark.parametrize(
    ("reply", "shows", "said"),
    [("y", "▸ 15 characters", "the rent is due"), ("What else?", "▸ refused", "What else?")],
)
def test_a_tool_call_is_asked_about_in_a_line_and_a_question_refuses_it(
    tmp_path: Path, reply: str, shows: str, said: str
) -> None:
    target = tiny.write(tmp_path / "long.gguf", n_ctx=8192, stops=False)
    (folder := tmp_path / "notes").mkdir()
    (folder / "note.txt").write_text("the rent is due")
    call = ToolCall("files__read", f'{{"path": "{folder / "note.txt"}"}}', "1")
    stored(tmp_path, "", calls=[call])
    (tmp_path / "home" / "config.toml").write_text(f'[tools]\nfolders = ["{folder}"]\n')
    arguments = ["--target", str(target), "--draft", "none", "--ctx", "8192", "--max-tokens", "5"]
    with inline(tmp_path, *arguments) as terminal:
        terminal.enter("/open 1", "Tool call: files__read", str(folder), "Run it?")
        terminal.enter("/chats", "A chat")
        terminal.enter(reply, shows, DONE)
        assert any(said in message.content for message in messages(tmp_path)[2:-1])


def test_control_characters_are_shown_and_not_obeyed(tmp_path: Path, models: list[str]) -> None:
    evil = "\x1b[2J\x1b]52;c;ZXZpbA==\x07 gone\u202e"
    stored(tmp_path, f"{evil}\n\n```{evil}\n{evil}\n```", Attachment(evil, evil))
    with inline(tmp_path, *models) as terminal:
        terminal.enter("/open 1", "› The question", "␛[2J␛]52;c;ZXZpbA==␇ gone")
        terminal.enter("/copy code\r/chats ␛", "Copied", "There are no such conversations.")
    assert b"\x1b[2J" not in terminal.seen
    assert b"\x1b]52;c;ZXZpbA==" not in terminal.seen
    assert "\u202e".encode() not in terminal.seen


AGAIN = """
import os, signal
from assistant.process.engine_process import EngineProcess
async def interrupted(self, close=EngineProcess.close):
    os.kill(os.getpid(), signal.SIGTERM)
    await close(self)
    print("All is freed.")
EngineProcess.close = interrupted
"""
"""Has the signal come once more while the models are freed."""


@pytest.mark.parametrize("leaves", [CTRL_D, signal.SIGTERM])
def test_an_answer_under_way_is_in_the_scrollback_when_one_leaves(
    tmp_path: Path, models: list[str], leaves: str | int
) -> None:
    site = customised(tmp_path, "" if leaves == CTRL_D else AGAIN)
    with inline(tmp_path, *models, **site) as terminal:
        terminal.go_on()
        terminal.process.send_signal(leaves) if isinstance(leaves, int) else terminal.press(leaves)
        assert terminal.end() == (0 if leaves == CTRL_D else 128 + signal.SIGTERM)
        known = "\n".join(["› Go on", *shown(messages(tmp_path)[1].content, 100)])
        assert known in "\n".join(filter(None, terminal.scrollback))
        assert leaves == CTRL_D or "All is freed." in terminal.text


REFUSED = {
    "/model nowhere": "No model is called 'nowhere'",
    "/form regex (": "The regex cannot be used: unclosed group.",
    f"{ESCAPE}/tools on": "Tools are off in this conversation. There are none",
}


def test_a_failed_command_says_why_and_the_chat_continues(
    tmp_path: Path, models: list[str]
) -> None:
    with inline(tmp_path, *models, "--max-tokens", "5") as terminal:
        for command, reason in REFUSED.items():
            terminal.enter(command, reason)
        terminal.enter("Go on", "› Go on", DONE)


def test_an_unexpected_error_of_a_command_ends_the_chat_in_a_sentence(
    tmp_path: Path, models: list[str]
) -> None:
    fails = "from tui.inline.commands import SlashCommands\nSlashCommands.do_help = lambda: 0"
    with inline(tmp_path, *models, **customised(tmp_path, fails)) as terminal:
        terminal.press("/help\r")
        assert terminal.end() == 1
        assert "This is a bug in specchat: TypeError." in terminal.text
        assert "File" not in terminal.text


def test_a_line_that_is_typed_before_the_prompt_is_there_is_sent(
    tmp_path: Path, models: list[str]
) -> None:
    with closing(Inline(tmp_path, *models, "--max-tokens", "5")) as terminal:
        terminal.enter("Go on", "› Go on", DONE)
        terminal.leave()
    with closing(Inline(tmp_path, *models)) as terminal:
        terminal.press("/quit\r")
        assert terminal.end() == 0


def test_a_terminal_without_a_cursor_has_lines(tmp_path: Path, models: list[str]) -> None:
    with inline(tmp_path, *models, "--max-tokens", "30", TERM="dumb", size=(60, 30)) as terminal:
        shown = terminal.until(lambda screen: screen.rstrip().endswith("\n›"))
        assert not next(line for line in shown.split("\n") if READY in line).startswith("›")
        terminal.press("/help\n")
        terminal.shows("\nCtrl+R find old questions.")
        terminal.press("Go on\n")
        terminal.shows("› Go on", DONE)
        terminal.press("/quit\n")
        assert terminal.end() == 0
        assert b"\x1b" not in terminal.seen


def test_a_terminal_without_a_cursor_is_interrupted(tmp_path: Path, slow: list[str]) -> None:
    with inline(tmp_path, *slow, TERM="dumb") as terminal:
        terminal.enter("Go on", "› Go on")
        terminal.press("\x03")
        terminal.until(lambda screen: "stopped · " in screen or "Not answered: Go on" in screen)
        terminal.press("\x03")
        assert terminal.end() == 128 + signal.SIGINT


@pytest.mark.parametrize(
    ("editing", "inputrc", "vi"),
    [
        ("auto", None, False),
        ("auto", "set editing-mode vi\n", True),
        ("auto", "# set editing-mode vi\n", False),
        ("vi", None, True),
        ("emacs", "set editing-mode vi\n", False),
    ],
)
def test_the_keys_are_the_configured_ones_or_readlines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editing: Any, inputrc: str | None, vi: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    if inputrc is not None:
        (tmp_path / ".inputrc").write_text(inputrc)
    assert is_vi(Settings(editing=editing)) == vi
