"""`specchat ask --each`: one start for many files."""

import json

import pytest

from assistant.engine.load import load
from tests.tui.shell.program import HOT, run


@pytest.fixture
def asked(target, tmp_path):
    files = []
    for name, text in (("one.txt", "Rain."), ("two.txt", "x " * 2000), ("three.txt", "Sun.")):
        (tmp_path / name).write_text(text)
        files.append(str(tmp_path / name))

    def ask(*options, files=files, **more):
        named = [word for file in files for word in ("--file", file)]
        pair = ("--target", target, "--draft", "none")
        return run("ask", *pair, *HOT, "--each", *named, *options, **more)

    ask.files = files
    return ask


@pytest.fixture
def loads(monkeypatch):
    made = []

    def noted(*arguments, **options):
        made.append(arguments)
        return load(*arguments, **options)

    monkeypatch.setattr("assistant.engine.engine.load", noted)
    return made


def test_each_file_has_its_answer_below_its_name_and_the_model_is_loaded_once(asked, loads):
    one, _, three = asked.files
    code, out, _ = asked("What?", "--max-tokens", 4, files=[one, three])
    assert code == 0
    alone = [run_alone(asked, file) for file in (one, three)]
    assert out == f"==> {one} <==\n{alone[0]}==> {three} <==\n{alone[1]}"
    assert len(loads) == 3


def run_alone(asked, file) -> str:
    _, out, _ = asked("What?", "--max-tokens", 4, files=[file])
    return str(out).partition("\n")[2]


def test_a_file_that_is_too_long_is_named_and_the_others_are_answered(asked):
    code, out, err = asked("What?", "--max-tokens", 4, "--json")
    assert code == 3
    assert [json.loads(line)["file"] for line in out.splitlines()] == asked.files[::2]
    assert "1 of 3 files:" in err
    assert f"{asked.files[1]}: " in err


def test_piped_text_is_part_of_each_question(asked):
    one, _, three = asked.files
    out = [asked("--max-tokens", 4, "--json", stdin=text, files=[one, three])[1] for text in "ab"]
    assert len({line for each in out for line in each.splitlines()}) == 4


def test_an_answer_without_guesses_does_not_load_the_usual_draft(target, draft, loads, monkeypatch):
    monkeypatch.setattr("models.drafts.find_draft", lambda *_: (draft, None))
    for mode in ("ars", "sps"):
        options = ("--mode", mode, "--max-tokens", 4, "--json", "Why?")
        code, out, _ = run("ask", "--target", target, *HOT, *options)
        assert code == 0
        assert (loads[-1][0].draft is None) == (json.loads(out)["draft"] is None) == (mode == "ars")


@pytest.mark.parametrize(
    ("options", "files"), [((), []), (("--chat", "new"), ["a"]), (("--tools", "files"), ["a"])]
)
def test_it_needs_files_and_holds_no_conversation(asked, options, files):
    files = [asked.files[0] for _ in files]
    code, _, err = asked("What?", *options, files=files)
    assert code == 2
    assert "--each goes with --file" in err
