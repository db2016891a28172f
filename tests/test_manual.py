"""The manual pages are those that the command line generates."""

import re
import shutil
import subprocess

import pytest

from assistant.settings.settings import KEYS
from tests.tools.manual import MAN, PAGES, man, pages, roff
from tui.shell.cli import COMMANDS


def test_the_manual_is_that_of_the_code():
    written = pages()
    stale = [
        path.name for path in written if not path.exists() or path.read_text() != written[path]
    ]
    assert not stale, "write them anew: python -m tests.tools.manual"
    assert {path for path in written if path.suffix == ".md"} == {*PAGES.glob("*.md")}


def test_every_command_and_every_option_is_in_it():
    text = man()
    for name in COMMANDS:
        assert f".SS specchat {name}" in text
    for key in KEYS.values():
        assert not key.option or roff(key.flag) in text
    for command in ("models pull", "chats import", "config show"):
        assert f".SS specchat {command}" in text


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_man_page_is_sound():
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-c", str(MAN)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.sub(".\b", "", done.stdout)  # bold is struck over
    assert "specchat ask" in shown
    assert "\\" not in shown


@pytest.mark.parametrize(("text", "shown"), [(".x", "\\&.x"), ("'x", "\\&'x"), ("a\\b", "a\\eb")])
def test_no_text_commands_troff(text, shown):
    assert roff(text) == shown
