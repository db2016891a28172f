"""Another program is asked the same, through the loopback interface, and ended."""

import json
import sys
from pathlib import Path

import psutil
import pytest

from assistant.lab.bench.llama_server import PLAIN, LlamaServer, servers
from assistant.request import Message, Request, Sampling, Setup
from models.errors import ModelError, UsageError
from tests import tiny

FAKE = Path(__file__).with_name("fake_server.py")
SAMPLING = Sampling(0.5, top_k=7, top_p=0.9, min_p=0.1, repeat_penalty=1.2, repeat_window=9)


def program(path: Path, *words: str) -> Path:
    """Return the fake server as a program; asked for help, it is given the words too."""
    path.write_text(f"""#!/bin/sh
case "$*" in *--help*) exec {sys.executable} {FAKE} {" ".join(words)} --help;; esac
exec {sys.executable} {FAKE} "$@"
""")
    path.chmod(0o755)
    return path


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    return program(tmp_path / "llama-server")


@pytest.fixture
def log(tmp_path):
    with (tmp_path / "log").open("w+b") as file:
        yield file


@pytest.fixture
def setup(tmp_path) -> Setup:
    target = tiny.write(tmp_path / "target.gguf")
    return Setup(target, tiny.write(tmp_path / "draft.gguf"), n_ctx=512, threads=3)


def asked(text="Hello"):
    return Request((Message("user", text),), SAMPLING, max_tokens=20, seed=5)


def test_it_is_asked_with_the_same_settings_and_its_times_are_taken(binary, setup):
    with servers(binary, setup, [None, 3]) as (plain, drafting):
        assert (plain.name, drafting.name) == ("llama-server", "llama-server=3")
        found, spoken = plain.measure(asked()), drafting.measure(asked())
    (request, options), (_, more) = json.loads(found.text), json.loads(spoken.text)
    assert request["prompt"].startswith("<|im_start|>user\nHello")
    expected = {"n_predict": 20, "temperature": 0.5, "top_k": 7, "top_p": 0.9, "min_p": 0.1}
    expected |= {"repeat_penalty": 1.2, "repeat_last_n": 9, "seed": 5, "cache_prompt": False}
    assert {name: request[name] for name in expected} == expected
    assert options["--host"] == "127.0.0.1"
    assert (options["-c"], options["-t"], "-md" in options) == ("512", "3", False)
    assert (more["-md"], more["--draft-max"]) == (str(setup.draft), "3")
    assert found.stats.generated_tokens == 20
    assert found.stats.tokens_per_s == pytest.approx(95)  # 19 within 0.2 s
    assert found.stats.tokens_per_eval == 1
    assert (spoken.stats.drafted, spoken.stats.rounds) == (9, 14)
    assert spoken.stats.acceptance_rate is None


def test_it_is_asked_in_the_words_of_its_version(setup, tmp_path):
    """Since the end of 2025 it has other options, and speculates with n-grams too."""
    newer = program(tmp_path / "llama-server-newer", "newer")
    with servers(newer, setup, [None, 3]) as started:
        assert [each.name for each in started[1:]] == ["llama-server=3", "llama-server:ngram"]
        told = [json.loads(each.measure(asked()).text) for each in started]
    (first, none), (second, drafts), (third, copies) = told
    assert "--spec-type" not in none
    assert (drafts["-md"], drafts["--spec-type"]) == (str(setup.draft), "draft-simple")
    assert drafts["--spec-draft-n-max"] == "3"
    assert (copies["--spec-type"], "-md" in copies) == ("ngram-simple", False)
    lookaheads = [each.get("speculative.n_max") for each in (first, second, third)]
    assert lookaheads == [0, 3, None]


def test_it_is_ended(binary, setup, log):
    server = LlamaServer(binary, setup, PLAIN, log)
    server.measure(asked())
    (child,) = [
        each for each in psutil.Process().children() if str(FAKE) in " ".join(each.cmdline())
    ]
    server.close()
    assert not child.is_running()


@pytest.mark.parametrize(
    ("text", "reason"), [("Tell no timings", "not a llama-server"), ("Break", "answered 500")]
)
def test_what_is_no_answer_is_a_model_error(binary, setup, log, text, reason):
    server = LlamaServer(binary, setup, PLAIN, log)
    with pytest.raises(ModelError, match=reason):
        server.measure(asked(text))
    server.close()


def test_program_that_ends_immediately_is_told_with_its_last_words(binary, log, tmp_path):
    broken = Setup(tiny.write(tmp_path / "broken.gguf"))
    server = LlamaServer(binary, broken, PLAIN, log)
    with pytest.raises(ModelError, match="unable to load model"):
        server.measure(asked())
    server.close()


def test_what_is_no_program_is_refused(setup, tmp_path):
    for path in (tmp_path / "none", tmp_path, FAKE):
        with pytest.raises(UsageError, match="not a program"), servers(path, setup, []):
            pass
