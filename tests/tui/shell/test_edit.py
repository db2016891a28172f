"""`specchat edit`: the rewrite is shown, and written only when it may be."""

import io
import subprocess
import sys
from contextlib import closing
from itertools import chain, repeat
from pathlib import Path
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner
from rich.console import Console
from rich.text import Text

from assistant.edit import kept_versions
from assistant.edit.part import Part
from assistant.events import Stop
from models.errors import StorageError
from tests.scripted_engine import Script
from tests.tui.shell.program import ENDLESS, run, run_until, use_script
from tui.shell import edit_command, engine_console
from tui.shell import edit_session as module
from tui.shell.diff_printing import DiffPrinting
from tui.shell.standard_output import put

OLD = "".join(f"line {number}\n" for number in range(20))
NEW = OLD.replace("line 9\n", "line nine\nline ten\n").rstrip("\n")


TOLD = """
import sys, tui.shell.diff_printing as module
def show(self, written):
    print("answering", file=sys.stderr, flush=True)
module.DiffPrinting.show = show
"""


def ended(key):
    """Press a key as Click does it: Ctrl-D ends the input."""
    if key == "\x04":
        raise EOFError
    return key


@pytest.fixture
def edit(tmp_path, monkeypatch):
    """Run the command; the model says `answers`, the user presses `keys`."""
    script = Script()
    known = [*use_script(tmp_path, monkeypatch, script, 4000), "--max-tokens", "2"]
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    Path("file.txt").write_text(OLD)

    def run(
        *arguments, answers=(NEW,), keys="", stop=Stop.STOP_STRING, stdin=None, getchar=None, code=0
    ):
        script.texts, script.stop = chain(answers, repeat("")), stop
        script.requests.clear()
        pressed = iter(keys)
        monkeypatch.setattr(click, "getchar", getchar or (lambda: ended(next(pressed))))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setattr(edit_command, "can_ask", lambda: bool(keys or getchar))
        done = CliRunner().invoke(edit_command.edit, [*known, *arguments], input=stdin)
        assert done.exit_code == code, done.output
        return done

    return Mock(side_effect=run, requests=script.requests)


def test_an_allowed_edit_is_written_and_can_be_undone(edit):
    done = edit("file.txt", "spell 9", keys="y")
    assert Path("file.txt").read_text() == f"{NEW}\n"
    assert "-line 9\n+line nine\n+line ten\n" in done.stderr
    assert "+2 −1 lines" in done.stderr
    assert done.stdout == ""
    edit("--undo", "file.txt")
    assert Path("file.txt").read_text() == OLD
    Path("other.txt").write_text(OLD)
    edit("other.txt", "spell 9", "--no-save", "--max-tokens", "none", keys="y")
    assert 500 < edit.requests[-1].max_tokens < 2000  # a limit of its own
    assert "No earlier version" in str(edit("--undo", "other.txt", code=1).exception)


def test_an_empty_file_loses_no_line(edit):
    Path("file.txt").write_text("")
    done = edit("file.txt", "write a haiku", answers=["frog"], keys="y")
    assert "line 1\n+frog\n+1 −0 lines" in done.stderr
    assert Path("file.txt").read_text().strip() == "frog"


@pytest.mark.parametrize(
    ("added", "old", "end"),
    [(12, 0, "line 12 of about 20 "), (5, 10, "line 15 of about 25 "), (24, 0, "line 24 · ")],
)
def test_on_a_small_terminal_how_far_it_is_stays_in_sight_and_grows_with_the_file(added, old, end):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=30, height=6)
    with closing(DiffPrinting(console, ["a long line " * 9] * 20, Part(0, 20))) as printing:
        printing.show(["another " * 9] * added + ["a long line " * 9] * old)
        *_, above, below = Text.from_ansi(shown.getvalue()).plain.splitlines()
    assert above.startswith(("+another", " a long"))
    assert below.startswith(end)


@pytest.mark.parametrize("keys", ["n", "?q", "x\x1b", "\r\x04"])
def test_a_refused_edit_is_not_written(edit, keys):
    edit("file.txt", "spell 9", keys=keys)
    assert Path("file.txt").read_text() == OLD


@pytest.fixture
def editor(monkeypatch):
    """Make a function the user's editor: it changes the text of a file."""

    def use(change):
        def edit_file(path):
            path.write_text(change(path.read_text()))

        monkeypatch.setattr(module, "edit_file", edit_file)

    return use


def test_a_new_version_is_edited_before_it_is_written(edit, editor):
    editor(lambda text: text[text.index("line 4") :].replace("nine", "NINE"))
    done = edit("file.txt", "spell 9", keys="ey")
    assert "+line NINE" in done.stderr
    assert "It leaves out lines 1 to 4." in done.stderr
    assert Path("file.txt").read_text() == f"{NEW[28:]}\n".replace("nine", "NINE")


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_bytes(b"\0")])
def test_a_file_ruined_by_an_editor_leaves_the_new_version_to_be_written(edit, monkeypatch, change):
    monkeypatch.setattr(module, "edit_file", lambda path: change(path) and "")
    done = edit("file.txt", "spell 9", keys="ey")
    assert Path("file.txt").read_text() == f"{NEW}\n"
    assert ("No such file" in done.stderr) or ("is not text" in done.stderr)


def test_an_editor_that_fails_is_named_below_the_change(edit, monkeypatch):
    monkeypatch.setattr(module, "edit_file", lambda path: "No editor.")
    done = edit("file.txt", "spell 9", keys="en")
    assert done.stderr.count("+line nine") == 1
    assert done.stderr.index("+line nine") < done.stderr.index("No editor.")


def test_nothing_that_is_printed_commands_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown := io.BytesIO()))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    put(b"-\x1b[31m\xff\n")
    assert shown.getvalue().decode() == "-␛[31m�\n"


def test_a_patch_is_printed_and_nothing_written(edit):
    done = edit("file.txt", "spell 9", "--diff")
    assert Path("file.txt").read_text() == OLD
    subprocess.run(["patch", "-p1"], input=done.stdout, text=True, check=True, capture_output=True)
    assert Path("file.txt").read_text() == f"{NEW}\n"


def test_standard_input_becomes_standard_output(edit):
    done = edit("-", "spell 9", stdin=OLD)
    assert done.stdout == f"{NEW}\n"
    done = edit("-", "spell 9", "--diff", stdin=OLD)
    assert "-line 9\n+line nine\n" in done.stdout


FENCED = "# Tool\n\n```sh\ntool\n```\n\nend\n"


@pytest.mark.parametrize(
    ("name", "old", "answer", "new"),
    [
        ("a.py", FENCED, FENCED.replace("end\n", "END\n```"), FENCED.replace("end", "END")),
        ("a.py:4-5", FENCED, "TOOL\n```", FENCED.replace("\ntool", "\nTOOL")),
        ("a.py:3-4", FENCED, "```sh\nTOOL\n```", FENCED.replace("\ntool", "\nTOOL")),
        ("a.py", OLD, f"\n\n{NEW}\n\n", f"{NEW}\n"),
        ("a.py", f"\n\n{OLD}\n\n", NEW, f"\n\n{NEW}\n\n\n"),
        ("a.py:1-3", OLD.replace("line 2", ""), "one\ntwo", "one\ntwo\n\n" + OLD[21:]),
    ],
)
def test_the_end_of_a_block_and_blank_lines_are_no_part_of_a_file(edit, name, old, answer, new):
    Path("a.py").write_text(old)
    edit(name, "x", "--yes", answers=[answer], stop=Stop.STOP_TOKEN)
    assert Path("a.py").read_text() == new


@pytest.mark.parametrize(("name", "answer"), [("a.md", "</file>"), ("a.py", "```")])
def test_an_answer_that_only_ends_its_block_is_empty(edit, name, answer):
    Path(name).write_text(OLD)
    done = edit(name, "delete it", "--yes", answers=[answer], stop=Stop.STOP_TOKEN, code=1)
    assert "it is empty" in str(done.exception)


def test_only_a_part_is_rewritten_and_the_rest_is_there_to_read(edit):
    edit("file.txt:10-11", "spell them", "--yes", answers=["nine\nten"])
    assert Path("file.txt").read_text() == OLD.replace("line 9\nline 10\n", "nine\nten\n")
    (request,) = edit.requests
    question, begun = request.messages[-2:]
    assert OLD.rstrip("\n") in question.content
    assert "lines 10 to 11 of file.txt, which are:\n\n```\nline 9\nline 10\n```" in question.content
    assert (begun.role, begun.content) == ("assistant", "```txt\n")
    assert request.stop_strings == ("\n```",)
    assert request.prediction == "line 9\nline 10\n"
    assert request.sampling.temperature == 0


@pytest.mark.parametrize(
    ("answer", "stop", "why"),
    [
        (NEW, Stop.LENGTH, "it ran into the length limit"),
        (NEW, Stop.CONTEXT, "the context is full"),
        ("", Stop.STOP_STRING, "it is empty"),
        ("line 0\n# ... rest of the lines", Stop.STOP_STRING, "lines 2 to 20 are replaced by “#"),
    ],
)
def test_a_fragment_is_named_and_never_written_unasked(edit, answer, stop, why):
    done = edit("file.txt", "spell 9", "--yes", answers=[answer], stop=stop, code=1)
    assert why in str(done.exception)
    done = edit("file.txt", "spell 9", keys="n", answers=[answer] * 2, stop=stop)
    assert f"This is only a fragment: {why}" in done.stderr
    assert "Write this fragment to file.txt?" in done.stderr
    assert Path("file.txt").read_text() == OLD


WHOLE = "import os\n\n\ndef one():\n    return os.name\n\n\ndef two():\n    return one()\n"
BROKEN = [
    (WHOLE.replace("import os", "from os import *"), "os is used in line 5, and defined nowhere."),
    (WHOLE.replace("def two():\n    return one()\n", ""), "It loses two."),
    (WHOLE.replace("name", "name ("), "It no longer parses, from line 5"),
]


@pytest.mark.parametrize(("answer", "why"), BROKEN)
def test_a_broken_edit_is_reported_first_and_written_unasked_only_by_force(edit, answer, why):
    Path("a.py").write_text(f"{WHOLE}LAST = 1\n")
    done = edit("a.py:1-9", "add type hints", "--yes", answers=[answer], code=1)
    assert str(done.exception).startswith("a.py stays as it is; --force writes it anyway. ")
    assert why in str(done.exception)
    assert Path("a.py").read_text() == f"{WHOLE}LAST = 1\n"
    done = edit("a.py:1-9", "add type hints", answers=[answer] * 2, keys="n")
    above, _, below = done.stderr.partition("Write a.py?")
    assert why in above
    assert "of guesses right" not in above
    assert "tokens" in below
    done = edit("a.py:1-9", "add type hints", "--yes", "--force", answers=[answer] * 3)
    assert Path("a.py").read_text() == answer.rstrip("\n") + "\nLAST = 1\n"


def test_an_end_left_out_unasked_is_not_written_of_a_part_and_put_back_of_a_file(edit):
    named = ("file.txt:3-9", "spell them", "--yes")
    done = edit(*named, answers=["line two\nline 3\nline 4"], code=1)
    assert "It leaves out lines 6 to 9." in str(done.exception)
    assert Path("file.txt").read_text() == OLD
    done = edit("file.txt", "spell 9", "--yes", answers=[NEW[: NEW.index("line 15")], ""])
    assert "Kept: lines 16 to 20, which it left out unasked." in done.stderr
    assert Path("file.txt").read_text() == f"{NEW}\n"


def test_a_broken_edit_is_reported_in_whole_words_on_a_narrow_terminal(edit, monkeypatch):
    printed = io.StringIO()
    terminal = Console(file=printed, force_terminal=True, width=40)
    monkeypatch.setattr(engine_console.EngineConsole, "console", terminal)
    Path("a.py").write_text(f"{WHOLE}LAST = 1\n")
    edit("a.py:1-9", "add type hints", answers=[BROKEN[0][0]], keys="n")
    shown = Text.from_ansi(printed.getvalue()).plain
    assert "os is used in line 5, and defined \nnowhere." in shown


@pytest.mark.parametrize(
    ("answers", "kept", "prefix"),
    [
        (
            (BROKEN[0][0], WHOLE[len("import os") :]),
            "Kept: lines 1 to 3",
            "from os import *\n\n\nimport os\n\n\n",
        ),
        ((BROKEN[1][0], ""), "Kept: lines 6 to 9", WHOLE),
    ],
)
def test_lines_left_out_unasked_are_put_back_and_the_answer_goes_on(edit, answers, kept, prefix):
    Path("a.py").write_text(WHOLE)
    done = edit("a.py", "add type hints", "--diff", answers=answers)
    assert f"{kept}, which it left out unasked." in done.stderr
    first, second = edit.requests
    assert second.messages[:-1] == first.messages[:-1]
    assert second.messages[-1].content == f"{first.messages[-1].content}{prefix}"
    assert "-import os" not in done.stdout
    assert "-def two" not in done.stdout


PARTS = OLD.replace("line 2\n", "two\n2\n").replace("line 9\n", "nine\n")


def test_parts_of_a_file_are_rewritten_from_below_and_decided_each_on_its_own(edit):
    named = ("file.txt:3", "file.txt:10", "spell them")
    edit(*named, answers=["nine", "two\n2"], keys="yy")
    assert "line 9\n```" in edit.requests[0].messages[-2].content
    assert "nine\n" in edit.requests[1].messages[-2].content
    assert Path("file.txt").read_text() == PARTS
    done = edit("--undo", "none.txt", *named[:2], code=1)  # it is one file, and brought back once
    assert str(done.exception).startswith("none.txt cannot be read")
    assert done.stderr == "file.txt is as it was before its last change.\n"
    assert Path("file.txt").read_text() == OLD
    edit(*named, answers=["nine", "two\n2"], keys="ny")
    assert Path("file.txt").read_text() == PARTS.replace("nine\n", "line 9\n")


@pytest.mark.parametrize("other", ["file.txt", "file.txt:4-9", "file.txt:1-4", "./file.txt:4"])
def test_parts_that_overlap_are_refused(edit, other):
    done = edit("file.txt:4", "file.txt:1-2", other, "x", "--yes", answers=[NEW] * 3, code=1)
    assert "overlap at line" in str(done.exception)
    assert not edit.requests


def test_parts_of_a_file_make_one_patch_and_go_back_together(edit):
    named = ("file.txt:3", "file.txt:10", "spell them")
    edit(*named, "--yes", "--check", "grep -q two file.txt; false", answers=["nine", "two"], code=1)
    assert Path("file.txt").read_text() == OLD
    done = edit(*named, "--diff", answers=["nine", "two\n2"])
    assert done.stdout.count("+++ b/file.txt") == 1
    assert Path("file.txt").read_text() == OLD
    subprocess.run(["git", "apply"], input=done.stdout, text=True, check=True)
    assert Path("file.txt").read_text() == PARTS


def test_parts_above_what_was_changed_in_the_editor_are_not_guessed(edit, editor):
    editor("first\n{}".format)
    done = edit("file.txt:3", "file.txt:10", "x", answers=["nine", "two"], keys="ey", code=1)
    assert str(done.exception) == "file.txt was changed above line 3 in the editor."
    assert Path("file.txt").read_text() == "first\n" + OLD.replace("line 9\n", "nine\n")


def test_each_of_several_files_is_decided_on_its_own_whether_one_is_a_fragment_or_refused(edit):
    Path("other.txt").write_text(OLD)
    edit("file.txt", "other.txt", "spell 9", answers=[NEW, NEW], keys="ny")
    assert Path("file.txt").read_text() == OLD
    assert Path("other.txt").read_text() == f"{NEW}\n"
    Path("other.txt").write_text(OLD)
    done = edit("file.txt", "other.txt", "spell 9", "--yes", answers=["", NEW], code=1)
    assert str(done.exception) == (
        "file.txt stays as it is; --force writes it anyway. This is only a fragment: it is empty."
    )
    assert Path("file.txt").read_text() == OLD
    assert Path("other.txt").read_text() == f"{NEW}\n"


LATIN = OLD.replace("line 0", "é").encode("latin-1")


def test_a_file_that_cannot_be_written_keeps_no_other_from_being_written_and_checked(edit):
    for name in ("latin.txt", "other.txt"):
        Path(name).write_bytes(LATIN if name == "latin.txt" else OLD.encode())
    named = ("file.txt", "latin.txt", "other.txt", "spell 9", "--yes", "--check")
    new = NEW.replace("line 0", "é →")
    done = edit(*named, "cat file.txt other.txt > seen; false", answers=[NEW, new, NEW], code=1)
    assert Path("seen").read_text() == f"{NEW}\n" * 2
    assert Path("latin.txt").read_bytes() == LATIN
    _, _, aside = str(done.exception).rstrip(".").rpartition(" ")
    assert Path(aside).read_text() == new
    assert Path("file.txt").read_text() == Path("other.txt").read_text() == OLD


def test_an_interrupt_names_what_was_written_and_not_checked(edit):
    Path("other.txt").write_text(OLD)
    getchar = Mock(side_effect=["y", KeyboardInterrupt])
    named = ("file.txt", "other.txt", "spell 9", "--check", "touch run")
    done = edit(*named, answers=[NEW, NEW], getchar=getchar, code=1)
    assert "The check was not run on file.txt: touch run" in done.stderr
    assert not Path("run").exists()


def test_a_fragment_stays_one_until_it_is_edited(edit, editor):
    texts = iter(["", "more"])
    editor(lambda text: text + next(texts))
    done = edit("file.txt", "spell 9", keys="een", stop=Stop.LENGTH)
    questions = [line for line in done.stderr.splitlines() if "y yes" in line]
    assert ["fragment" in line for line in questions] == [True, True, False]


@pytest.mark.parametrize("save", ["--save", "--no-save"])
@pytest.mark.parametrize(("check", "code"), [("grep -q nine file.txt", 0), ("false", 1)])
def test_an_edit_that_fails_the_check_is_undone(edit, check, code, save):
    edit("file.txt", "spell 9", "--yes", "--check", check, save, code=code)
    assert Path("file.txt").read_text() == (OLD if code else f"{NEW}\n")


FORMATTED = f"{NEW}\n".replace("nine", "Nine")


@pytest.mark.parametrize(
    ("check", "save", "now", "message"),
    [
        ("sed -i s/nine/Nine/ file.txt; false", "--save", OLD, "brings back what it had become"),
        ("sed -i s/nine/Nine/ file.txt; false", "--no-save", FORMATTED, "before the edit is in "),
        ("rm file.txt; false", "--save", OLD, "It is there again, as before."),
        ("rm file.txt; mkdir file.txt; false", "--save", None, "before the edit is in "),
        ("rm -r ../work; false", "--save", None, "before the edit is in "),
    ],
)
def test_a_check_that_changes_the_file_and_fails_loses_no_version(edit, check, save, now, message):
    done = edit("file.txt", "spell 9", "--yes", "--check", check, save, code=1)
    assert message in done.stderr
    if now is not None:
        assert Path("file.txt").read_text() == now
    if message.endswith(" in "):
        aside = done.stderr.split("before the edit is in ")[1].split()[0].removesuffix(".")
        assert Path(aside).read_text() == OLD
    else:
        edit("--undo", "file.txt")
        assert Path("file.txt").read_text() == (FORMATTED if "sed" in check else f"{NEW}\n")


@pytest.mark.parametrize("keys", ["", "y"])
def test_a_check_that_is_stopped_has_failed(edit, monkeypatch, keys):
    monkeypatch.setattr(subprocess, "run", Mock(side_effect=KeyboardInterrupt))
    yes = [] if keys else ["--yes"]
    edit("file.txt", "spell 9", *yes, "--check", "sleep 99", keys=keys, stdin="y\n", code=1)
    assert Path("file.txt").read_text() == OLD


def test_the_name_of_a_file_commands_no_terminal(edit):
    Path("file.txt").rename(name := "a\x1b[31mb")
    done = edit(name, "spell 9", "--check", "false", keys="y", stdin="n\n", code=1)
    assert "Undo the change to a␛[31mb?" in done.stderr
    assert "\x1b" not in done.output


def test_an_edit_that_changes_nothing_says_so(edit):
    assert "file.txt stays as it is" in edit("file.txt", "nothing", "--yes", answers=[OLD]).stderr
    assert not Path("../home/edits").exists()


def test_a_file_that_changed_meanwhile_stays_and_the_new_version_is_not_lost(edit):
    def press():
        Path("file.txt").write_text("newest")
        return "y"

    done = edit("file.txt", "spell", getchar=press, code=1)
    assert "changed meanwhile" in str(done.exception)
    assert Path("file.txt").read_text() == "newest"
    aside = Path(str(done.exception).rpartition("The new version is in ")[2].removesuffix("."))
    assert aside.read_text() == f"{NEW}\n"


def test_a_new_version_that_no_place_takes_is_lost_with_the_reason(edit, monkeypatch):
    full, refused = FileNotFoundError(2, "no room"), StorageError("Refused.")
    monkeypatch.setattr("tempfile.mkdtemp", Mock(side_effect=full))
    monkeypatch.setattr(kept_versions, "write", Mock(side_effect=refused))
    (message,) = edit("file.txt", "spell 9", "--yes", code=1).exception.args
    assert message == "Refused. The new version cannot be kept elsewhere either (no room)."


def test_a_file_that_does_not_fit_is_refused_with_what_helps(edit):
    Path("file.txt").write_text("many words here\n" * 1000)
    done = edit("file.txt", "spell", "--yes", code=1)
    assert "file.txt:10-40" in str(done.exception)
    assert not edit.requests
    done = edit("file.txt:500-502", "spell", "--yes", answers=["few"])
    assert 10 < edit.requests[0].messages[-2].content.count("many words here") < 1000


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "Name a file"),
        (("file.txt", "file.txt", "--yes"), "after the last file, "),
        (("file.txt", "file.txt:3", "--yes"), "after the last file, "),
        (("loop.txt", "x", "--yes"), "loop.txt cannot be read"),
        (("file.txt",), "Name a file"),
        (("none.txt", "x"), "none.txt cannot be read"),  # and nobody can be asked
        (("page.pdf", "x", "--yes"), "page.pdf is a document"),
        (("file.txt:99", "x", "--yes"), "has lines 1 to 20"),
        (("file.txt", "-", "x"), "edited alone"),
        (("file.txt", "x", "--diff", "--check", "true"), "--check goes with neither"),
        (("file.txt", "x"), "add --yes to write"),
        (("file.txt", "x", "--force"), "--force goes with --yes or --diff"),
        (("--undo",), "Name the file to bring back"),
        (("--undo", "file.txt"), "No earlier version"),
    ],
)
def test_wrong_input_is_refused_before_anybody_waits(tmp_path, arguments, why):
    (tmp_path / "file.txt").write_text(OLD)
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    arguments = [str(tmp_path / each) if "txt" in each else each for each in arguments]
    code, out, err = run("edit", *arguments)
    assert (code, out) == (2, "")
    assert why in err
    assert sys.executable not in err


def test_ctrl_c_stops_and_leaves_the_file(endless, tmp_path):
    """In the midst of an answer, which without an end would go on."""
    path = tmp_path / "file.txt"
    path.write_text(OLD)
    few = ("--target", endless, "--draft", "none", *ENDLESS, "--max-tokens", "29000")
    code, _, err = run_until("answering", "edit", *few, "--yes", path, "x", first=TOLD)
    assert code == 130
    assert f"Stopped: this change to {path} is not written." in err.replace("\n", "")
    assert path.read_text() == OLD
