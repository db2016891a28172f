"""`specchat ask`: what is printed, of models that think, with a form, and about each file."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from assistant.engine.load import load
from assistant.events import Origin, Token
from tests.tui.shell.program import HOT, ask, run
from tui.shell.received_answers import AnswerPrinter


def words(text: str) -> list[Token]:
    return [Token(0, text, Origin.TARGET, None, 1.0, None)]


def test_an_answer_ends_a_line_an_empty_one_too_and_one_that_never_began_none(capsys):
    printing = AnswerPrinter(quiet=False)
    printing.cut()
    assert capsys.readouterr().out == ""
    printing.end()
    assert capsys.readouterr().out == "\n"
    printing.add(words("one"))
    printing.cut()
    assert capsys.readouterr().out == "one\n"


@pytest.mark.parametrize(
    "text", ["all:\n\tgcc  x\n", "  2*3*4 [b]\\ \n\n", "x" * 300, "\u00a0\u200b重"]
)
def test_an_answer_on_a_pipe_is_what_the_model_said_and_the_end_of_a_line(capsys, text):
    printing = AnswerPrinter(quiet=False)
    for piece in (text[:7], text[7:]):
        printing.add(words(piece))
    printing.end()
    assert capsys.readouterr().out == text + "\n"


def test_the_answer_is_printed_alone_and_the_thought_before_it_when_told_to(thinking_target):
    def answer(*options):
        few = ("--max-tokens", 24, "--thinking-budget", 6)
        return ask(thinking_target, *few, *options, "Why?")[1]

    report = json.loads(answer("--json"))
    assert list(report)[:2] == ["text", "reasoning_content"]
    thought, text = report["reasoning_content"], report["text"]
    alone, both = answer(), answer("--show-thinking")
    assert thought
    assert text
    assert len(both) >= len(alone) + len(thought.rstrip("\x00"))
    assert both.endswith(f"\n\n{alone}")


def test_an_option_of_thinking_is_refused_where_a_setting_is_not(thinking_target, target, home):
    code, out, err = ask(target, "--thinking", "on", "Why?")
    assert (code, out) == (2, "")
    assert "does not think" in err
    assert ask(thinking_target, "--effort", "low", "Why?")[0] == 2
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text('thinking = "on"\n')
    code, _, err = ask(target, "--max-tokens", 4, "Why?")
    assert code == 0
    assert "does not think" in err


PERSON = json.dumps(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 6}, "ok": {"type": "boolean"}},
        "required": ["name", "ok"],
        "additionalProperties": False,
    }
)
FORM = "person.json"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a schema."""
    (tmp_path / FORM).write_text(PERSON)
    monkeypatch.chdir(tmp_path)


def test_an_answer_has_the_form_of_a_file_or_of_standard_input(target, folder):
    for given, stdin in ((FORM, None), ("-", PERSON)):
        code, out, err = ask(target, "--schema", given, "hello", stdin=stdin)
        assert (code, err) == (0, "")
        assert list(json.loads(out)) == ["name", "ok"]
    assert ask(target, "--regex", "yes|no", "--json", "hello")[1].startswith('{"text": "')
    assert ask(target, "--grammar", "-", "hello", stdin='root ::= "a" "b"')[1] == "ab\n"


@pytest.mark.parametrize(("option", "value"), [("--max-tokens", 5), ("--stop", "name")])
def test_an_answer_that_ends_in_mid_form_is_an_error_that_says_what_to_do(
    target, folder, option, value
):
    for form in ((), ("--json",)):
        code, out, err = ask(target, "--schema", FORM, option, value, *form, "hello")
        assert code == 3
        assert err.count("form was complete") == 1
        assert option in err
    assert json.loads(out)["complete"] is False


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--schema", FORM, "--regex", "a"), "An answer has one form"),
        (("--schema", "nowhere.json"), "nowhere.json cannot be read"),
        (("--regex", "(a"), "The regex cannot be used: unclosed group."),
        (("--grammar", "-"), "The grammar cannot be used: No 'root' rule found."),
    ],
)
def test_a_form_that_cannot_be_used_is_a_sentence_and_exit_code_2(target, folder, options, why):
    code, out, err = ask(target, *options, "hello", stdin="")
    assert (code, out) == (2, "")
    assert why in err
    assert "Traceback" not in err


@pytest.fixture
def files(tmp_path):
    """A short, a long and a short file."""
    paths = [str(tmp_path / name) for name in ("one.txt", "two.txt", "three.txt")]
    for path, text in zip(paths, ("Rain.", "x " * 2000, "Sun."), strict=True):
        Path(path).write_text(text)
    return paths


def ask_each(target, files, *options, **more):
    named = [word for file in files for word in ("--file", file)]
    return ask(target, "--max-tokens", 4, "--each", *named, *options, **more)


@pytest.fixture
def loads(monkeypatch):
    """The arguments of each loading of models."""
    loads = Mock(side_effect=load)
    monkeypatch.setattr("assistant.engine.engine.load", loads)
    return loads


def test_each_file_has_its_answer_below_its_name_and_the_model_is_loaded_once(target, files, loads):
    one, _, three = files
    code, out, _ = ask_each(target, [one, three], "What?")
    assert code == 0
    assert out == "".join(ask_each(target, [file], "What?")[1] for file in (one, three))
    assert out.count("==> ") == len(loads.mock_calls) - 1 == 2
    assert out.startswith(f"==> {one} <==\n")


def test_a_file_too_long_or_not_read_is_named_and_the_others_are_answered(target, files):
    code, out, err = ask_each(target, ["gone.txt", *files], "What?", "--json")
    assert code == 3
    assert [json.loads(line)["file"] for line in out.splitlines()] == files[::2]
    assert "2 of 4 files:\ngone.txt cannot be read: " in err
    assert f"{files[1]}: " in err


def test_piped_text_is_part_of_each_question(target, files):
    out = [ask_each(target, files[::2], "--json", stdin=text)[1] for text in "ab"]
    assert len({*"".join(out).splitlines()}) == 4


def test_an_answer_without_guesses_does_not_load_the_usual_draft(target, draft, loads, monkeypatch):
    monkeypatch.setattr("models.drafts.find_draft", lambda *_: (draft, None))
    for mode in ("ars", "sps"):
        options = ("--mode", mode, "--max-tokens", 4, "--json", "Why?")
        code, out, _ = run("ask", "--target", target, *HOT, *options)
        assert code == 0
        has_draft = loads.mock_calls[-1].args[0].draft is not None
        assert has_draft == (json.loads(out)["draft"] is not None) == (mode == "sps")
