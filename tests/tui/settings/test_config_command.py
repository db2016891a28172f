"""`specchat config`, what `config.toml` changes for other commands, and completion by a shell."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.models.files.stores import ollama_model
from tests.tui.shell.program import HOT, ROOT, run
from tui.settings.settings import KEYS


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path))
    for key in KEYS.values():
        monkeypatch.delenv(key.environment, raising=False)
    return tmp_path


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
    put(home, "# mine\n\nthreads = 3\ntop_k = 5\nctx = 512\n[presets.code]\ntemperature = 0.2\n")
    code, out, _ = run(
        "--top-k", 9, "--preset", "code", "config", "show", "--json", env={"SPECCHAT_CTX": "1024"}
    )
    assert code == 0
    values = json.loads(out)["values"]
    assert set(values) == set(KEYS)
    assert {
        name: (values[name]["value"], values[name]["from"])
        for name in ("threads", "top_k", "ctx", "temperature", "preset", "mode")
    } == {
        "threads": (3, "config.toml:3"),
        "top_k": (9, "--top-k"),
        "ctx": (1024, "SPECCHAT_CTX"),
        "temperature": (0.2, "preset code"),
        "preset": ("code", "--preset"),
        "mode": ("auto", "default"),
    }


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


def test_keys_lists_the_names_that_can_be_remapped(home):
    code, out, err = run("config", "keys")
    assert (code, err) == (0, "")
    assert any(line.split()[:2] == ["chat.new", "ctrl+n"] for line in out.splitlines())


@pytest.mark.parametrize("arguments", [["ask", "hi"], ["config", "show"]])
def test_a_value_that_is_not_allowed_is_one_sentence_and_exit_code_2(home, arguments):
    path = put(home, "mode = 'sps'\ntemperature = 300\n")
    assert run(*arguments) == (
        2, "", f"specchat: {path}:2: temperature must be a number from 0 to 100: 300.\n"
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


def test_an_answer_follows_the_file_and_its_preset(home, target):
    put(home, f'target = "{target}"\ndraft = "none"\nmax_tokens = 7\n[presets.x]\ntop_k = 3\n')
    code, out, err = run("ask", *HOT[6:], "--preset", "x", "--json", "hello")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["stats"]["generated_tokens"] == 7
    assert report["sampling"]["top_k"] == 3


def test_an_unknown_key_is_a_warning_and_the_answer_comes(home, target):
    put(home, "temprature = 1\n")
    code, out, err = run("ask", "--target", target, "--draft", "none", *HOT, "--max-tokens", 3, "x")
    assert (code, bool(out)) == (0, True)
    assert 'there is no key "temprature"; did you mean "temperature"?' in err


def test_auto_on_the_command_line_beats_a_number_in_the_file(home):
    put(home, "lookahead = 3\n")
    for arguments in (["-k", "auto"], ["--lookahead", "auto"]):
        out = run(*arguments, "config", "show", "--json")[1]
        assert json.loads(out)["values"]["lookahead"]["value"] == "auto"


def test_no_save_and_online_beat_the_file(home):
    put(home, "save = true\noffline = true\n")
    values = json.loads(run("--no-save", "--online", "config", "show", "--json")[1])["values"]
    assert (values["save"]["value"], values["offline"]["value"]) == (False, False)


@pytest.mark.parametrize("by", ["file", "variable", "option"])
def test_offline_is_obeyed_wherever_it_was_said(home, by):
    put(home, "offline = true\n" if by == "file" else "")
    env = {"HF_HUB_CACHE": str(home), "SPECCHAT_MODELS": str(home)}
    env |= {"SPECCHAT_OFFLINE": "1"} if by == "variable" else {}
    flags = ["--offline"] if by == "option" else []
    code, out, err = run(*flags, "models", "pull", "qwen2.5-coder-0.5b", env=env)
    assert (code, out) == (5, "")
    assert "offline" in err


# What a shell asks for.


def complete(*words: str, heavy: tuple[str, ...] = ()) -> list[str]:
    leave = f"sys.exit(sorted({set(heavy)!r} & set(sys.modules)) or None)" if heavy else ""
    program = (
        "import sys\nfrom tui.shell.cli import main\n"
        f"try: main()\nexcept SystemExit: {leave or 'pass'}"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={
            **os.environ,
            "_SPECCHAT_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        },
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split(",", 1)[1] for line in done.stdout.splitlines() if line]


@pytest.fixture
def llama(tmp_path, monkeypatch):
    """A machine on which Ollama has `llama3.2`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OLLAMA_MODELS", raising=False)
    ollama_model("registry.ollama.ai/library/llama3.2/latest", b"GGUF")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(shell):
    code, out, _ = run(env={"_SPECCHAT_COMPLETE": f"{shell}_source"})
    assert code == 0
    assert "_SPECCHAT_COMPLETE" in out


def test_an_unknown_shell_is_refused():
    assert run(env={"_SPECCHAT_COMPLETE": "tcsh_source"})[0] == 1


def test_commands_are_completed_without_importing_them():
    heavy = ("llama_cpp", "numpy", "textual", "huggingface_hub", "tui.settings.command")
    assert complete("specchat", "con", heavy=heavy) == ["config"]


def test_options_and_their_words_are_completed(home):
    put(home, "[presets.code]\n[presets.prose]\n")
    assert complete("specchat", "ask", "--temp") == ["--temperature"]
    assert complete("specchat", "ask", "--mode", "s") == ["sps"]
    assert complete("specchat", "ask", "--preset", "") == ["none", "code", "prose"]
    assert "qwen2.5-coder-1.5b" in complete("specchat", "ask", "--target", "qwen2.5-c")
    assert complete("specchat", "config", "p") == ["path"]


@pytest.mark.parametrize(
    ("typed", "answers"),
    [
        ("specchat ask --target oll", ["ollama:llama3.2:latest"]),
        ("specchat ask --target ollama:ll", ["llama3.2:latest"]),
        ("specchat ask --target ollama:llama3.2:", ["latest"]),
        ("specchat ask --mode ", ["auto", "sps", "ars"]),
        ("specchat --target 'half quoted --mode s", []),
        ("specchat con", ["config"]),
        ("specchat", []),
    ],
)
def test_what_stands_after_a_colon_is_a_word_to_bash(llama, monkeypatch, typed, answers):
    monkeypatch.setenv("COMP_LINE", typed)
    monkeypatch.setenv("COMP_BREAKS", " \t\n:=")
    assert [word for word in complete("specchat", "x") if word in answers] == answers
    if typed.endswith((":ll", ":")):
        monkeypatch.setenv("COMP_BREAKS", " \t\n=")
        assert complete("specchat", "x") == ["ollama:llama3.2:latest"]


@pytest.mark.parametrize("text", ["--target ollama:", "--target oll"])
def test_bash_itself_completes_a_name_with_colons(llama, text):
    """Its own function, in a shell that reads no one's settings."""
    source = run(env={"_SPECCHAT_COMPLETE": "bash_source"})[1]
    program = f"{sys.executable} -c 'from tui.__main__ import main; main()'"
    ask = f"""
        specchat() {{ {program} "$@"; }}
        env() {{ ( while [[ $1 == *=* ]]; do export "$1"; shift; done; "$@" ); }}
        {source}
        COMP_LINE='specchat {text}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=($COMP_LINE)
        COMP_CWORD=2; _specchat_completion specchat; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True
    )
    expected = "ollama:llama3.2:latest" if text.endswith("oll") else "llama3.2:latest"
    assert done.stdout.split() == [expected]


def test_models_of_every_program_are_completed_by_name(llama):
    for command in (("ask", "--target"), ("--draft",), ("models", "show"), ("models", "pair", "x")):
        assert complete("specchat", *command, "oll") == ["ollama:llama3.2:latest"]
    assert "qwen3-8b" in complete("specchat", "models", "pull", "smollm2-135m", "qwen3")
    assert complete("specchat", "models", "check", "./mod") == ["./mod"]


def test_a_broken_file_is_no_matter_for_completion(home):
    put(home, "oh =")
    assert complete("specchat", "ask", "--preset", "") == ["none"]
