"""Shell completion, and the scripts that set it up."""

from pathlib import Path

import pytest

from tests.models.files.stores import ollama_model
from tests.sources import light
from tests.tui.shell.program import run


def asked(*words: str) -> dict[str, str]:
    """Return the variables by which a shell asks what completes the last word."""
    typed = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    return {"_SPECCHAT_COMPLETE": "bash_complete", **typed}


def complete(*words: str) -> list[str]:
    code, out, err = run(env=asked(*words))
    assert (code, err) == (0, "")
    return [line.split(",", 1)[1] for line in out.splitlines()]


@pytest.fixture
def llama(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which Ollama has `llama3.2`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OLLAMA_MODELS", raising=False)
    ollama_model("registry.ollama.ai/library/llama3.2/latest", b"GGUF")


@pytest.mark.parametrize(("shell", "code"), [("bash", 0), ("zsh", 0), ("fish", 0), ("tcsh", 1)])
def test_every_shell_gets_its_script_and_an_unknown_one_is_refused(shell, code):
    done, out, _ = run(env={"_SPECCHAT_COMPLETE": f"{shell}_source"})
    assert (done, "_SPECCHAT_COMPLETE" in out) == (code, code == 0)


def test_commands_are_completed_without_importing_them(monkeypatch):
    for name, value in asked("specchat", "con").items():
        monkeypatch.setenv(name, value)
    assert light(without=frozenset({"tui.settings.command"})) == "plain,config\n"


def test_options_and_their_words_are_completed():
    assert complete("specchat", "ask", "--temp") == ["--temperature"]
    assert complete("specchat", "ask", "--mode", "s") == ["sps"]
    assert "qwen2.5-coder-1.5b" in complete("specchat", "ask", "--target", "qwen2.5-c")
    assert complete("specchat", "config", "p") == ["path"]


def test_models_of_every_program_are_completed_by_name(llama):
    for command in (("ask", "--target"), ("--draft",), ("models", "show"), ("models", "pair", "x")):
        assert complete("specchat", *command, "oll") == ["ollama:llama3.2:latest"]
    assert "qwen3-8b" in complete("specchat", "models", "pull", "smollm2-135m", "qwen3")
    assert complete("specchat", "models", "check", "./mod") == ["./mod"]
