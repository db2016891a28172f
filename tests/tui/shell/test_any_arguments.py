"""Random arguments of `specchat` end in a documented exit code, and never in a bug."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests import tiny
from tui.app.signals import ending
from tui.shell import cli

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


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Iterator[Path]:
    """A user's home and working folder, with no network in reach."""
    folder = tmp_path_factory.mktemp("person")
    os.mkfifo(folder / "pipe.gguf")
    (folder / "bad.gguf").write_bytes(b"<html>")
    tiny.write(folder / "model.gguf", stops=False)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "SPECCHAT_HOME", "SPECCHAT_MODELS", "HF_HOME", "XDG_CONFIG_HOME"):
            patch.setenv(name, str(folder / name.lower()))
        for name in ("HF_HUB_CACHE", "XDG_DATA_HOME", "XDG_CACHE_HOME", "SPECCHAT_DEBUG"):
            patch.delenv(name, raising=False)
        patch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_CONFIG_FILE", "/dev/null")
        patch.setenv("EDITOR", "true")
        patch.chdir(folder)
        # who waits for what a pipe brings, as may be, has an end to it
        writer = subprocess.Popen(["sh", "-c", "while : > pipe.gguf; do :; done"], cwd=folder)
        yield folder
        writer.kill()
        writer.wait()


def run(arguments: list[str]) -> int:
    """Run the command line in this process, with an empty standard input; return its exit code."""
    handlers = {number: signal.getsignal(number) for number in ending()}
    with pytest.MonkeyPatch.context() as patch, open(os.devnull) as nothing:
        patch.setattr(sys, "argv", ["specchat", *arguments])
        patch.setattr(sys, "stdin", nothing)
        patch.setattr("click.utils.should_strip_ansi", lambda *_: False)  # as on a terminal
        try:
            cli.main()
        except SystemExit as end:
            return int(end.code or 0)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return 0


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
def test_any_arguments_end_in_an_exit_code_and_never_in_a_bug(home, capfd, arguments):
    capfd.readouterr()
    code = run(arguments)
    out, err = capfd.readouterr()
    assert code in CODES, (code, err)
    assert "Traceback" not in out + err
    assert "bug in specchat" not in out + err
    assert "\x1b" not in COLOURS.sub("", err + out)
    assert code == 0 or (out + err).strip()
