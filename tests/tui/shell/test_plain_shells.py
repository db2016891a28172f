"""Shells, pipes and terminals with few capabilities."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.session.attachments import LIMIT
from models.errors import UsageError
from tests import ROOT
from tests.patience import WAIT_S
from tests.terminal.recording import _run as at_terminal
from tests.tui.shell.program import HOT, run, run_apart, started
from tui.shell import standard_output

ASCII = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "LANG": "C"}


def test_typed_and_piped_text_survives_a_locale_of_ascii(target, tmp_path):
    known = ("ask", "--target", target, "--draft", "none", *HOT, "--max-tokens", 9)
    with (tmp_path / "ünï").open("w+") as piped:
        piped.write("größer ∑")
        piped.seek(0)
        code, _, err = run_apart(*known, "--chat", "new", "√ and ü", env=ASCII, stdin=piped)
    assert (code, err) == (0, "")
    code, out, err = run_apart("chats", "show", 1, env=ASCII)
    assert (code, err) == (0, "")
    assert "√ and ü\n\ngrößer ∑" in out


def test_as_much_as_can_be_sent_is_read_and_of_an_endless_pipe_no_more(monkeypatch):
    for command in (["head", "-c", str(LIMIT), "/dev/zero"], ["cat", "/dev/zero"]):
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", writer.stdout)
            if command[0] == "head":
                assert len(standard_output.read_piped()) == LIMIT
            else:
                with pytest.raises(UsageError, match="more than 10 MB, or no end"):
                    standard_output.read_piped()
        writer.kill()
        writer.communicate()


def test_a_pipe_that_does_not_close_is_waited_for_with_a_word():
    first = "import tui.shell.standard_output as given\ngiven.PATIENCE_S = 0.1\n"
    with started(
        "ask", "hi", "--target", "none.gguf", stdin=subprocess.PIPE, first=first
    ) as process:
        assert "Waiting for the end of standard input" in process.stderr.readline()
        process.communicate()
    assert process.returncode == 3  # there is no such file


@pytest.mark.parametrize("how", ["2>/dev/full", "2>&-"])
def test_an_answer_goes_on_and_an_error_has_its_code_where_notes_cannot_be_written(target, how):
    few = (sys.executable, "-m", "tui", "ask", "hi", "--draft", "none", "--max-tokens", "5", *HOT)
    for model, code in ((target, 0), ("none.gguf", 3)):
        command = ["sh", "-c", f'exec "$@" {how}', "sh", *few, "--target", str(model)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        assert (done.returncode, bool(done.stdout)) == (code, code == 0)


def test_a_filter_of_an_editor_writes_nothing_on_the_screen_of_the_editor(target):
    screen, slave = pty.openpty()
    known = ("--target", target, "--draft", "none", *HOT, "--max-tokens", 9)
    with started("ask", *known, "as a poem", stdin=subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        answer, _ = process.communicate("line 3\n", timeout=WAIT_S)
    assert (process.returncode, bool(answer.strip())) == (0, True)
    with pytest.raises(OSError):  # noqa: PT011 - nothing was written, and nobody writes any more
        os.read(screen, 1)
    os.close(screen)


@pytest.mark.parametrize("name", ["dumb", ""])
def test_a_terminal_that_cannot_place_its_cursor_gets_a_sentence(tmp_path: Path, name: str):
    inner = "import os, sys; os.dup2(1, 0)\nfrom tui.__main__ import main; main()"
    code, seen = at_terminal(tmp_path, inner, TERM=name)
    assert code == 2
    assert b"TERM" in seen
    assert b"specchat --inline" in seen
    assert b"specchat ask" in seen
    assert b"\x1b" not in seen


def test_a_package_of_the_same_name_in_a_folder_of_python_s_path_is_not_ours(target, tmp_path):
    for name in ("models", "assistant"):
        (tmp_path / f"{name}.py").touch()
    known = ("--target", target, "--draft", "none", *HOT, "--max-tokens", "5")
    first = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    code, out, err = run_apart("ask", "hi", *known, first=first)
    assert (code, bool(out), err) == (0, True, "")


def test_a_current_folder_that_is_gone_is_a_sentence(tmp_path):
    (gone := tmp_path / "gone").mkdir()
    first = f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})\n"
    code, _, err = run_apart("edit", "a", "Rename it.", first=first, env={"PYTHONPATH": str(ROOT)})
    assert (code, err[:42]) == (1, "specchat: The current folder is gone. Chan")


@pytest.mark.parametrize("command", ["chats", "config", "ask", "doctor", "models"])
def test_a_user_without_a_home_folder_is_asked_for_one(command):
    code, _, err = run(command, env={"HOME": "not/from/the/root"})
    assert (code, err[:39]) == (2, "specchat: The home folder is unknown. S")
