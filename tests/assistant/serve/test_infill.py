"""Gaps in a text: what llama.cpp's clients and OpenAI's ask for, and what they get."""

import json
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import openai
import pytest

from assistant.prompt.infill import InfillPrompt
from assistant.request import Infill
from assistant.serve.text_completion import meeting_of
from tests import tiny
from tests.assistant.serve.conftest import Running, serving
from tests.conftest import Open
from tests.patience import WAIT_S

MARKS = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>")
BEFORE, AFTER = "def width(self):\n    return self.wid", "\n\n\ndef height(self):\n"
VIM = {
    "id_slot": 0, "input_prefix": "def width(self):\n", "input_suffix": AFTER,
    "input_extra": [{"text": "wide = 3\n", "time": 17, "filename": "wide.py"}],
    "prompt": "    return self.wid", "n_predict": 12, "stop": [], "n_indent": 0, "top_k": 40,
    "top_p": 0.9, "samplers": ["top_k", "top_p", "infill"], "stream": False, "cache_prompt": True,
    "t_max_prompt_ms": 500, "t_max_predict_ms": 60_000,
    "response_fields": ["content", "timings/prompt_n", "timings/predicted_n", "truncated"],
}  # fmt: skip
"""A request of llama.vim."""


@pytest.fixture(scope="module")
def filling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("infill") / "fills.gguf"
    return tiny.write(path, stops=False, controls=(*tiny.CONTROLS, *MARKS))


@pytest.fixture(scope="module")
def editor(filling: Path) -> Iterator[Running]:
    with serving(filling, n_ctx=1024, measure=False) as endpoint:
        yield endpoint


def ask(running: Running, path: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{running.port}{path}",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@pytest.mark.parametrize("before", ["", "self.wid", "return ", "x = 'é", "\n\t", "<|fim_middle|>"])
@pytest.mark.parametrize("after", ["", "th\n", " ", "😀'", "<|fim_prefix|>"])
def test_the_prompt_of_a_gap_has_every_byte_around_it(
    open_model: Open, filling: Path, before: str, after: str
) -> None:
    vocab = open_model(filling).weights.vocab
    tokens = InfillPrompt(vocab, before, Infill(after), 500).tokens
    marks = [vocab.infill_marks[part] for part in ("prefix", "suffix", "middle")]
    assert [token for token in tokens if token in marks] == marks
    split = tokens.index(marks[1])
    parts = tokens[1:split], tokens[split + 1 : -1]
    assert [b"".join(map(vocab.piece, part)).decode() for part in parts] == [before, after]


def test_a_gap_keeps_what_is_nearest_to_it_if_not_all_fits(open_model: Open, filling: Path) -> None:
    vocab = open_model(filling).weights.vocab
    before, after = "a" * 500 + "b", "c" + "d" * 500
    prompt = InfillPrompt(vocab, before, Infill(after, (("x", "e" * 500),)), 200)
    text = b"".join(map(vocab.piece, prompt.tokens)).decode()
    assert len(prompt.tokens) <= 200
    assert "abcd" in text
    assert "e" not in text


def test_llama_vim_gets_the_fields_that_it_asks_for(editor: Running) -> None:
    answer = ask(editor, "/infill", VIM)
    assert [*answer] == VIM["response_fields"]
    assert answer["timings/predicted_n"] == 12
    whole = ask(editor, "/infill", {**VIM, "response_fields": []})
    assert (whole["content"], whole["stop"]) == (answer["content"], True)
    assert whole["timings"]["cache_n"] > 0


def test_a_prompt_without_an_answer_is_read_for_the_next_one(editor: Running) -> None:
    warm = {**VIM, "prompt": "", "n_predict": 0, "response_fields": [""]}
    assert ask(editor, "/infill", warm) == {}


def test_a_suffix_is_filled_in_as_llama_cpp_does(editor: Running) -> None:
    body = {"model": "tiny", "prompt": BEFORE, "suffix": AFTER, "max_tokens": 12, "temperature": 0}
    native = {"input_prefix": BEFORE, "input_suffix": AFTER, "n_predict": 12}
    text = ask(editor, "/v1/completions", body)["choices"][0]["text"]
    assert text == ask(editor, "/infill", native)["content"] != ""
    for mode in ("ars", "sps"):
        own = {"specchat": {"mode": mode}}
        assert ask(editor, "/infill", {**native, **own})["content"] == text


def test_a_model_without_marks_for_a_gap_is_refused_with_one_that_has_them(
    running: Running,
) -> None:
    with pytest.raises(openai.BadRequestError, match=r"qwen2\.5-coder-1\.5b can"):
        running.client().completions.create(model="tiny", prompt="a", suffix="b")


def test_an_answer_ends_where_it_begins_to_repeat_what_follows() -> None:
    assert meeting_of("\n\n    return width\n}\n") == "\n\n    return width\n"
    assert meeting_of(")\n") == ""
    assert meeting_of(")\n    return 1\n") == ")\n    return 1\n"


def test_a_newer_request_of_a_client_replaces_the_one_under_way(tmp_path: Path) -> None:
    path = tiny.write(
        tmp_path / "slow.gguf",
        layers=60,
        n_ctx=8192,
        stops=False,
        controls=(*tiny.CONTROLS, *MARKS),
    )
    body = {"input_prefix": BEFORE, "input_suffix": AFTER, "n_predict": 8000}
    with (
        serving(path, n_ctx=8192, measure=False) as slow,
        ThreadPoolExecutor(1) as pool,
    ):
        older = pool.submit(ask, slow, "/infill", body)
        slow.until(lambda: slow.engine.answers)
        assert ask(slow, "/infill", {**body, "input_prefix": "x", "n_predict": 1})["stop"]
        with pytest.raises(HTTPError, match="499") as refused:
            older.result(WAIT_S)
        refused.value.close()
