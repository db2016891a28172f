"""The command line as a shell sees it: output, errors and exit codes."""

import json
import os
import re
import signal
import sys
import time
from contextlib import closing
from functools import partial
from operator import ne
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from assistant.edit import kept_versions, text_file
from assistant.store.files import database_path
from assistant.store.store import Store
from models.errors import Bug, UsageError
from models.files import checksum
from tests.assistant.store.conversations import talk
from tests.patience import WAIT_S
from tests.scripts import ended
from tests.terminal.terminal import Terminal
from tests.tui.shell.program import ENDLESS, HOT, MAIN, run, run_apart, started
from tui.shell.cli import specchat


def ask(target: Path, draft: Path, *arguments: object, **options) -> tuple[int, str, str]:
    return run("ask", "--target", target, "--draft", draft, *HOT, *arguments, **options)


def test_of_an_answer_nothing_else_is_printed_for_a_program_that_reads_it(target, draft):
    """In the processes that a shell starts; most tests below do without them."""
    known = ("ask", "--target", target, "--draft", draft, *HOT)
    # A pipe is no terminal, whatever is exported; what ASCII lacks is not a reason to fail.
    shell = {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1", "PYTHONIOENCODING": "ascii"}
    code, out, err = run_apart(*known, "--mode", "sps", "--max-tokens", 20, "hello", env=shell)
    assert code == 0
    assert "?" in out
    assert "\x1b" not in out
    assert err == ""


def test_json_has_every_field_and_its_figures_agree(target, draft):
    few = ("--mode", "sps", "-k", 3, "--max-tokens", 30, "--json")
    code, out, err = ask(target, draft, *few, "hello")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert set(report) == {
        "text", "stop", "tokens", "stats", "target", "draft", "engine", "sampling", "seed"
    }  # fmt: skip
    tokens, stats = report["tokens"], report["stats"]
    fields = {"id", "text", "origin", "source", "target_prob", "draft_prob"}
    assert all(set(token) == fields for token in tokens)
    assert set(stats) == {
        "mode", "rounds", "drafted", "tested", "accepted", "acceptance_rate", "tokens_per_eval",
        "prompt_tokens", "cached_tokens", "generated_tokens", "prefill_s", "first_token_s",
        "decode_s", "tokens_per_s", "lookahead_counts",
    }  # fmt: skip
    assert "".join(token["text"] for token in tokens) == report["text"]
    assert report["stop"] == "length"
    assert len(tokens) == stats["generated_tokens"] == 30
    origins = [token["origin"] for token in tokens]
    assert origins.count("draft") == stats["accepted"] <= stats["tested"] <= stats["drafted"]
    assert stats["tokens_per_eval"] == 30 / stats["rounds"]
    assert sum(stats["lookahead_counts"].values()) == stats["rounds"]
    assert all((token["draft_prob"] is None) == (token["source"] is None) for token in tokens)
    assert all(0 < token["target_prob"] <= 1 for token in tokens)
    assert report["target"]["sha256"] == checksum.sha256(target)
    assert report["draft"]["path"] == str(draft)
    assert (report["seed"], report["sampling"]["temperature"]) == (5, 14)


def test_prompt_pipe_and_files_make_one_question(target, draft, tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("from a file")

    def tokens(*question, **options):
        out = ask(target, draft, "--max-tokens", 1, "--json", *question, **options)[1]
        return json.loads(out)["stats"]["prompt_tokens"]

    more = tokens("abc", "-f", note, stdin="def\n") - tokens("abc")
    whole = f"abc\n\ndef\n\n{note}:\n```\nfrom a file\n```"
    assert more == len(whole) - len("abc")  # the tiny vocabulary is bytes


LONG = "a" * 300  # a path at which looking is an error, as in a folder that may not be entered


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["ask"], 2, "There is no question. Give one as PROMPT: specchat ask "),
        (["ask", "hi", "--temperature", "-1"], 2, "must be a number from 0 to 100: '-1'"),
        (["ask", "hi", "-f", "no/such/file"], 2, "no/such/file cannot be read"),
        (["ask", "hi", "-f", sys.executable], 2, "is not text"),
        (["ask", "hi", "-f", LONG], 2, "cannot be read: File name too long"),
        (["ask", "hi", "--target", f"{LONG}.gguf"], 3, "cannot be read: File name too long"),
        (["ask", "hi", "--each"], 2, "--each goes with --file"),
        (["ask", "hi", "--each", "-f", LONG, "--chat", "new"], 2, "--each goes with --file"),
        (["ask", "hi", "--each", "-f", LONG, "--tools", "files"], 2, "--each goes with --file"),
        (["ask", "hi", "--about", "nowhere"], 2, "'nowhere' does not exist"),
        (["ask", "hi", "--about", __file__], 2, "is a file"),
        (["ask", "hi", "--tools", "files"], 2, "folder that may be read; name one with --folder."),
        (["ask", "hi", "--tools", "sea"], 2, "No tools are called 'sea'. There are: files."),
        (["ask", "hi", "--yes"], 2, "--folder and --yes go with --tools."),
        (["race"], 2, "There is no prompt"),
        (["race", "  "], 2, "There is no prompt"),
        (["serve", "--port", "0", "--host", "example.org"], 2, "must be localhost or an address"),
        (["serve", "--port", "0", "--host", "203.0.113.7"], 2, "cannot be used"),
        (["serve", "--port", "0", "--token-file", "no/such/file"], 4, "no/such/file"),
        (["serve", "--port", "0", "--target", "no/such.gguf"], 3, "There is no file"),
        (["bench", "prompts", "none.jsonl"], 2, "none.jsonl cannot be read"),
        (["bench", "prompts", "--json", "/no/such/folder/x.json"], 4, "no folder"),
        (["bench", "sweep", "--lookaheads", "1,x"], 2, "not a list of lookaheads"),
        (["frobnicate"], 2, "No such command"),
        (["aks", "x"], 2, "No such command 'aks'. Did you mean 'ask'?"),
        (["ask", "--temp", "1", "hi"], 2, "Did you mean '--temperature'?"),
        (["ask", "--themperature", "1", "hi"], 2, "Did you mean '--temperature'?"),
        (["ask", "--n-predict", "1", "hi"], 2, "Did you mean '--max-tokens'?"),
        (["ask", "hi", "--target", "no/such/model.gguf"], 3, "There is no file"),
        (["ask", "hi", "--target", __file__], 3, "is not a GGUF"),
        ([], 2, "needs a terminal"),
        (["--inline"], 2, "needs a terminal to type in. In a pipe, use: specchat ask"),
    ],
)
def test_bad_input_is_one_sentence_and_an_exit_code(arguments, code, complaint):
    exit_code, out, err = run(*arguments)
    assert (exit_code, out) == (code, "")
    assert complaint in err
    assert re.fullmatch(r"specchat: .*\n", err)


def test_a_store_that_cannot_be_used_is_exit_code_4():
    database_path().mkdir(parents=True)
    code, out, err = run("chats")
    assert (code, out) == (4, "")
    assert "is not a file" in err


@pytest.mark.parametrize("piped", ["stdin", "stdout", "stderr"])
def test_without_a_terminal_at_every_end_no_chat_is_opened(monkeypatch, piped):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, SimpleNamespace(isatty=partial(ne, name, piped)))
    with pytest.raises(UsageError, match=r"input, output and error.* in a pipe: specchat ask"):
        specchat.invoke(specchat.make_context("specchat", []))


def test_a_bug_that_the_engine_tells_of_is_one_sentence_too(monkeypatch):
    """Its process lives on, so the error comes as any other does."""
    bug = Bug("This is a bug in specchat: KeyError.")
    monkeypatch.setattr("tui.shell.cli.specchat.invoke", Mock(side_effect=bug))
    assert run("ask", "hi") == (1, "", "specchat: This is a bug in specchat: KeyError.\n")


@pytest.mark.parametrize("seconds", [0.1, 0.3, 0.5, 0.7])
@pytest.mark.some(1)
def test_control_c_at_any_moment_exits_130(endless, seconds):
    command = ("ask", "--target", endless, "--draft", endless, *ENDLESS, "hello")
    quiet = {"PYTHONWARNINGS": "ignore"}  # Python's own, of what it had open at that moment
    up = "import os, tui.__main__\nos.write(2, b'up\\n')\n"
    with started(*command, first=up, env=quiet) as process:
        process.stderr.readline()  # before Python is up, it is Python that ends
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_control_c_while_python_imports_is_no_traceback():
    program = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(name, *rest):\n"
        "        if name == 'tui.shell.options': raise KeyboardInterrupt\n"
        f"sys.meta_path.insert(0, Interrupted)\n{MAIN}"
    )
    done = ended(program)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_second_signal_does_not_disturb_the_end_after_the_first():
    done = ended("""
import os, signal
from tui.app.signals import leave
signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGHUP, leave)
try:
    os.kill(os.getpid(), signal.SIGTERM)
finally:
    os.kill(os.getpid(), signal.SIGHUP)
    print("saved")
""")
    assert (done.returncode, done.stdout) == (143, "saved\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
@pytest.mark.some(2)
def test_a_terminated_answer_gives_the_cursor_back(endless, tmp_path, number):
    answer = ("ask", "hello", "--target", str(endless), "--draft", "none", *ENDLESS)
    with Terminal(tmp_path, *answer) as terminal:
        terminal.until(lambda _: b"\x1b[?25l" in terminal.seen)
        terminal.process.send_signal(number)
        assert terminal.end() == 128 + number


def test_reader_that_goes_away_is_no_error(endless):
    with started("ask", "--target", endless, "--draft", "none", *ENDLESS, "hello") as process:
        process.stdout.read(1)
        process.stdout.close()
        assert process.wait(WAIT_S) == 141
        assert "Traceback" not in process.stderr.read()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full disk to try")
@pytest.mark.parametrize("why", ["No space left on device", "closed"])
@pytest.mark.parametrize(
    "arguments",
    [
        *(("--help",), ("--version",), ("config", "show"), ("chats", "export", "--all")),
        *(("ask", "hi"), ("edit", "--undo", "--diff"), ("models", "check")),
    ],
    ids=" ".join,
)
def test_output_that_cannot_be_written_is_exit_code_4_and_the_reason(
    target, tmp_path, arguments, why
):
    with closing(Store(database_path())) as store:
        talk(store, "Hello")
    if arguments[0] == "ask":
        arguments = (*arguments, "--target", target, "--draft", "none", *HOT, "--max-tokens", 9)
    if arguments[0] == "models":
        arguments = (*arguments, target)
    if arguments[0] == "edit":
        (edited := tmp_path / "file").write_text("old")
        kept_versions.write(text_file.read(edited), b"new", b"old")
        arguments = (*arguments, edited)
    close = partial(os.close, 1) if why == "closed" else None
    with (
        open("/dev/full", "w") as full,
        started(*arguments, stdout=full, preexec_fn=close) as process,
    ):
        _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 4
    (line,) = (line for line in err.splitlines() if line.startswith("specchat: "))
    assert f"Standard output cannot be written ({why})" in line


def test_doctor_tells_what_is_missing_and_the_command_that_fixes_it(tmp_path):
    bare = {"HF_HUB_CACHE": str(tmp_path / "hub"), "SPECCHAT_MODELS": str(tmp_path / "models")}
    code, out, err = run("doctor", "--json", env=bare)
    findings = json.loads(out)
    assert (code, err) == (3, "")
    assert {finding["topic"] for finding in findings} >= {"llama.cpp", "processor", "memory"}
    fixes = [finding["fix"] for finding in findings if finding["verdict"] == "bad"]
    assert fixes == [f"specchat models pull qwen2.5-coder-{size}" for size in ("1.5b", "0.5b")]


@pytest.mark.weights
@pytest.mark.thorough
def test_the_default_pair_answers(default_pair):
    code, out, err = run(
        "ask", "--json", "--temperature", "0", "--mode", "sps", "-k", 3, "--max-tokens", 40,
        "Write a C program that prints hello world. Code only.",
    )  # fmt: skip
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert "printf" in report["text"]
    assert report["stats"]["accepted"] > 0
    target, draft = (Path(report[role]["path"]).name for role in ("target", "draft"))
    assert target == default_pair[0].name
    assert draft.startswith(default_pair[1].stem)  # where a faster copy was made, it is that one
