"""`specchat config`, and what `config.toml` changes for other commands."""

import json
from pathlib import Path

import pytest

from assistant.settings.settings import KEYS
from tests.tui.shell.program import HOT, run

pytestmark = pytest.mark.usefixtures("unset_home")


def put(home: Path, text: str) -> Path:
    path = home / "config.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [None, "oh ="])
def test_path_is_printed_whatever_the_file_says_and_without_one(home, text):
    if text:
        put(home, text)
    assert run("config", "path") == (0, f"{home / 'config.toml'}\n", "")


def test_show_says_where_each_value_came_from(home):
    put(home, "# mine\n\nthreads = 3\ntop_k = 5\nctx = 512\n")
    code, out, _ = run("--top-k", 9, "config", "show", "--json", env={"SPECCHAT_CTX": "1024"})
    assert code == 0
    values = json.loads(out)["values"]
    assert set(values) == set(KEYS)
    for name, value, source in (
        ("threads", 3, "config.toml"), ("top_k", 9, "--top-k"), ("ctx", 1024, "SPECCHAT_CTX"),
        ("mode", "auto", "default"),
    ):  # fmt: skip
        assert (values[name]["value"], values[name]["from"]) == (value, source)


def test_config_alone_shows_every_key(home):
    code, out, err = run("config")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(KEYS)
    assert "not there" in err
    assert "\x1b" not in out + err


def test_template_is_a_file_that_can_be_used(home):
    code, out, err = run("config", "template")
    assert (code, err) == (0, "")
    put(home, out)
    assert run("config", "show")[0] == 0


@pytest.mark.parametrize("arguments", [["ask", "hi"], ["config", "show"]])
def test_a_value_that_is_not_allowed_is_one_sentence_and_exit_code_2(home, arguments):
    path = put(home, "mode = 'sps'\ntemperature = 300\n")
    assert run(*arguments) == (
        2, "", f"specchat: {path}: temperature must be a number from 0 to 100: 300.\n"
    )  # fmt: skip


def test_a_variable_that_is_not_allowed_is_named(home):
    code, out, err = run("ask", "hi", env={"SPECCHAT_MODE": "fast"})
    assert (code, out) == (2, "")
    assert err == "specchat: SPECCHAT_MODE: mode must be one of auto, sps, ars: 'fast'.\n"


@pytest.mark.parametrize("arguments", [["--help"], ["ask", "--help"], ["--version"]])
def test_a_broken_file_never_stops_help(home, arguments):
    put(home, "oh =")
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert out


def test_an_answer_follows_the_file_and_an_unknown_key_is_a_warning(home, target):
    put(home, f'temprature = 1\ntarget = "{target}"\ndraft = "none"\nmax_tokens = 7\ntop_k = 3\n')
    code, out, err = run("ask", *HOT[6:], "--json", "hello")
    assert code == 0
    assert 'there is no key "temprature"; did you mean "temperature"?' in err
    report = json.loads(out)
    assert report["stats"]["generated_tokens"] == 7
    assert report["sampling"]["top_k"] == 3


def test_options_for_words_and_flags_beat_the_file(home):
    put(home, "lookahead = 3\nsave = true\noffline = true\n")
    _, out, _ = run("-k", "auto", "--no-save", "--online", "config", "show", "--json")
    shown = json.loads(out)["values"]
    values = [shown[name]["value"] for name in ("lookahead", "save", "offline")]
    assert values == ["auto", False, False]


def test_a_choice_made_in_the_program_is_named_with_the_value_in_the_file(home):
    put(home, "temperature = 1.5\n")
    (home / "state.json").write_text('{"temperature": {"value": 0.4, "over": 1.5}}')
    out = run("config", "show")[1]
    assert "temperature     0.4" in out
    assert "state.json (instead of 1.5 from config.toml)" in out
    values = json.loads(run("config", "show", "--json")[1])["values"]
    assert values["temperature"]["source"] == "state"


@pytest.mark.parametrize("by", ["file", "variable", "option"])
def test_offline_is_obeyed_wherever_it_was_said(home, by):
    put(home, "offline = true\n" if by == "file" else "")
    env = {"HF_HUB_CACHE": str(home), "SPECCHAT_MODELS": str(home)}
    env |= {"SPECCHAT_OFFLINE": "1"} if by == "variable" else {}
    flags = ["--offline"] if by == "option" else []
    code, out, err = run(*flags, "models", "pull", "qwen2.5-coder-0.5b", env=env)
    assert (code, out) == (5, "")
    assert "offline" in err
