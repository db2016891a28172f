"""Random arguments of `specchat` end in a documented exit code, and never in a bug."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests import tiny
from tests.tui.shell.program import run

CODES = {0, 2, 3, 4, 5}
EXAMPLES = int(os.environ.get("SPECCHAT_ARGUMENTS", "150"))
COMMANDS = ("ask", "race", "models", "chats", "doctor", "config", "frobnicate")
BELOW = (
    *("list", "show", "pull", "check", "pair", "search", "export", "import", "delete", "rename"),
    *("path", "get", "set", "template", "edit"),
)
OPTIONS = (
    *("--help", "--version", "--json", "--target", "--draft", "--mode", "--lookahead", "--ctx"),
    *("--threads", "--temperature", "--top-k", "--top-p", "--seed", "--max-tokens", "--system"),
    *("--file", "-f", "--stop", "--offline", "--theme", "--no-save", "--template"),
    *("--no-such-option", "-x", "--", "-", "--target=", "--ctx=-1", "---", "--=", "-\x1b[2J"),
)
VALUES = (
    *("", "0", "-1", "1e999", "nan", "99999999999999999999", "0x10", "auto", "sps", "none"),
    *("qwen2.5-coder-1.5b", "smollm2-135m", "no/such.gguf", "org/repo:file.gguf", "a/b:Q4_K_M"),
    *("/dev/null", "/dev/zero", ".", "~", "pipe.gguf", "bad.gguf", "model.gguf", "hello"),
    *("\x1b]0;title\x07", "a\nb", "\udcff", "é漢\u202e", "x" * 5000, "%s{}", "$(true)", "[bold]"),
)
WORDS = st.one_of(
    st.sampled_from(OPTIONS),
    st.sampled_from(VALUES),
    st.text(st.characters(exclude_characters="\0"), max_size=8),
)
PAIRS = st.one_of(
    st.tuples(st.sampled_from(OPTIONS), st.sampled_from(VALUES)), st.tuples(WORDS), st.tuples(WORDS)
)
ARGUMENTS = st.tuples(
    st.just([]) | st.just([]) | st.lists(PAIRS, max_size=1),
    st.lists(st.tuples(st.sampled_from(COMMANDS)), min_size=1, max_size=1),
    st.lists(st.tuples(st.sampled_from(BELOW)), max_size=1),
    st.lists(PAIRS, max_size=4),
).map(lambda parts: [word for part in parts for pair in part for word in pair])
COLOURS = re.compile("\x1b\\[[0-9;]*m")


@pytest.fixture
def folder(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A user's working folder."""
    monkeypatch.chdir(bare_machine)
    monkeypatch.setenv("EDITOR", "true")
    # As on a terminal.
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)
    os.mkfifo("pipe.gguf")
    Path("bad.gguf").write_bytes(b"<html>")
    tiny.write(Path("model.gguf"), stops=False)
    # who waits for what a pipe brings, as may be, has an end to it
    with subprocess.Popen(["sh", "-c", "while : > pipe.gguf; do :; done"]) as writer:
        yield
        writer.kill()


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=ARGUMENTS)
@example(arguments=[])
@example(arguments=["ask", "hi", "--target", "pipe.gguf"])
@example(arguments=["ask", "hi", "--target", "/dev/zero"])
@example(arguments=["ask", "hi", "--target", "bad.gguf"])
@example(arguments=["ask", "hi", "--target", "model.gguf", "--max-tokens", "3", "--threads", "1"])
@example(arguments=["ask", "-f", "pipe.gguf/x", "--", "-"])
@example(arguments=["ask", "-f", "pipe.gguf"])
@example(arguments=["models", "show", "\x1b]0;title\x07"])
@example(arguments=["models", "pull", "org/repo:file.gguf"])
@example(arguments=["models", "check", "\udcff.gguf"])
@example(arguments=["--no-such\x1b[2J-option"])
@example(arguments=["chats", "show", "99999999999999999999"])
def test_any_arguments_end_in_an_exit_code_and_never_in_a_bug(folder, capfd, arguments):
    code, *printed = run(*arguments)
    shown = "".join([*printed, *capfd.readouterr()])  # of other processes, too
    assert code in CODES, (code, shown)
    assert "Traceback" not in shown
    assert "bug in specchat" not in shown
    assert "\x1b" not in COLOURS.sub("", shown)
    assert code == 0 or shown.strip()
