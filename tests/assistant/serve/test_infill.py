"""`/infill` and completions with a suffix: prompts, caching and the clients' fields."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.sampling import Origin
from assistant.decoding.sources.suffix import SuffixSource
from assistant.engine.control import Control
from assistant.events import Stop, Token
from assistant.prompt.infill import InfillPrompts
from assistant.request import Constraint, EngineArgs, Infill, Message, Request
from assistant.serve.completion_objects import AnswerDeltas
from assistant.serve.dialect import Notices
from assistant.serve.recent_answers import LastSuggestions
from assistant.serve.text_completion import from_text
from models.base import common_prefix_length
from models.native.vocab import GAP_MARKS, Vocab
from tests import tiny
from tests.assistant.engine.answering import loaded
from tests.assistant.serve.conftest import Running, serving
from tests.conftest import Open
from tests.patience import WAIT_S
from tui.shell.serve import EDITORS

MARKS = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>")
CONTROLS = (*tiny.CONTROLS, *MARKS)
BEFORE, AFTER = "def width(self):\n    return self.wid", "\n\n\ndef height(self):\n"
VIM: dict[str, Any] = {
    "id_slot": 0, "input_prefix": "def width(self):\n", "input_suffix": AFTER,
    "input_extra": [{"text": "wide = 3\n", "time": [17, 4], "filename": "wide.py"}],
    "prompt": "    return self.wid", "n_predict": 12, "stop": [], "n_indent": 0, "top_k": 40,
    "top_p": 0.9, "samplers": ["top_k", "top_p", "infill"], "stream": False, "cache_prompt": True,
    "t_max_prompt_ms": 500, "t_max_predict_ms": 60_000,
    "response_fields": ["content", "timings/prompt_n", "timings/predicted_n", "truncated"],
}  # fmt: skip
"""A request of llama.vim."""
MARKED = f"<|fim_prefix|>{BEFORE}<|fim_suffix|>{AFTER}<|fim_middle|>"
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "vim": ("/infill", VIM),
    "vscode": ("/infill", {
        "input_prefix": "def width(self):\n", "input_suffix": AFTER, "input_extra": [],
        "prompt": "    return self.wid", "n_predict": 12, "n_cmpl": 1, "top_k": 40, "top_p": 0.99,
        "stream": False, "samplers": ["top_k", "top_p", "infill"], "cache_prompt": True,
        "t_max_prompt_ms": 500, "t_max_predict_ms": 60_000,
    }),
    "continue": ("/completion", {
        "prompt": MARKED, "stream": True, "n_predict": 12, "temperature": 0, "stop": [
            "<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>",
            "<|repo_name|>", "<|file_sep|>", "<|im_start|>", "<|im_end|>", "/src/",
            "#- coding: utf-8", "```",
        ],
    }),
    "zed": ("/v1/completions", {
        "model": "tiny", "prompt": MARKED, "max_tokens": 12, "temperature": None, "stop": [
            "<|endoftext|>", "<|file_separator|>", "<|fim_pad|>", "<|fim_prefix|>",
            "<|fim_middle|>", "<|fim_suffix|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>",
            "<PRE>", "<SUF>", "<MID>", "[PREFIX]", "[SUFFIX]",
        ], "environment": None,
    }),
    "minuet": ("/v1/completions", {
        "model": "tiny", "prompt": BEFORE, "suffix": AFTER, "stream": True, "max_tokens": 12,
        "top_p": 0.9,
    }),
}  # fmt: skip
"""What each plugin asks, and where, by the names of `serve --editor`."""
WARM = {
    "input_prefix": "", "input_suffix": "", "input_extra": VIM["input_extra"], "prompt": "",
    "n_predict": 0, "samplers": [], "cache_prompt": True, "t_max_prompt_ms": 1,
    "t_max_predict_ms": 1,
}  # fmt: skip
"""What llama.vim and llama.vscode send ahead of a request."""


@pytest.fixture(scope="module")
def filling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("infill") / "fills.gguf"
    return tiny.write(path, stops=False, controls=CONTROLS)


@pytest.fixture
def vocab(open_model: Open, filling: Path) -> Vocab:
    return open_model(filling).weights.vocab


@pytest.fixture(scope="module")
def sentencepiece(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("infill") / "sentencepiece.gguf"
    return tiny.write(path, controls=CONTROLS, sentencepiece=True)


@pytest.fixture(scope="module")
def editor(filling: Path) -> Iterator[Running]:
    with serving(filling, n_ctx=1024, measure=False) as endpoint:
        yield endpoint


def text_of(answer: dict[str, Any]) -> str:
    """Return the text of an object, where a plugin of either API looks for it."""
    return str(answer["choices"][0]["text"] if "choices" in answer else answer["content"])


@pytest.mark.parametrize("before", ["", "self.wid", "return ", "x = 'é", "\n\t", "<|fim_middle|>"])
@pytest.mark.parametrize("after", ["", "th\n", " ", "😀'", "<|fim_prefix|>"])
@pytest.mark.parametrize("kind", ["filling", "sentencepiece"])
def test_the_prompt_of_a_gap_has_every_byte_around_it(
    open_model: Open, request: pytest.FixtureRequest, kind: str, before: str, after: str
) -> None:
    vocab = open_model(request.getfixturevalue(kind)).weights.vocab
    tokens, _ = InfillPrompts(vocab).prompt(before, Infill(after), 500, "")
    marks = [vocab.infill_marks[part] for part in ("prefix", "suffix", "middle")]
    assert [token for token in tokens if token in marks] == marks
    split = tokens.index(marks[1])
    parts = tokens[1:split], tokens[split + 1 : -1]
    assert [b"".join(map(vocab.piece, part)).decode() for part in parts] == [before, after]


def test_a_gap_keeps_what_is_nearest_to_it_if_not_all_fits(vocab: Vocab) -> None:
    before, after = "a" * 500 + "b", "c" + "d" * 500
    gap = Infill(after, (("x", "e" * 500),))
    tokens, _ = InfillPrompts(vocab).prompt(before, gap, 200, "")
    text = b"".join(map(vocab.piece, tokens)).decode()
    assert len(tokens) <= 200
    assert ("abcd" in text, "e" in text) == (True, False)


def test_a_typed_key_recomputes_little_of_a_long_suffix(vocab: Vocab) -> None:
    after = "".join(f"line {number}\n" for number in range(100))
    prompts = InfillPrompts(vocab)
    (older, _), (newer, context) = (
        prompts.prompt(before, Infill(after), 2000, "") for before in ("a = b", "a = bc")
    )
    assert len(newer) - common_prefix_length(older, newer) <= 28
    assert after in b"".join(map(vocab.piece, context)).decode()  # all of it can be copied


def test_a_far_suffix_is_read_once_for_all_cursors(vocab: Vocab) -> None:
    lines = [f"line {number}\n" for number in range(300)]
    prompts = InfillPrompts(vocab)

    def at(line: int, typed: str = "", lines: list[str] = lines) -> tuple[str, int]:
        before, after = "".join(lines[:line]) + typed, "".join(lines[line:])
        tokens, _ = prompts.prompt(before, Infill(after), 1080, "")
        assert len(tokens) <= 1080
        again = len(tokens) - tokens.index(vocab.infill_marks["suffix"]) - 2
        return b"".join(map(vocab.piece, tokens)).decode(), again

    first, _ = at(100)
    far = first[: first.index("line 127")]
    assert far.startswith("rest\nline 103\n")
    read = {"x": 24, "": 24, "in it": 64, "below": 64, "far above": 64}
    for line, place in ((100, "x"), (20, "far above"), (99, ""), (104, "in it"), (190, "below")):
        at(0, "", [])  # as clients ask that only files be read
        text, again = at(line, place)
        assert (text.startswith(far), again) == (True, read[place])
        assert line not in (99, 104) or text.startswith(first[:400])  # and of what is before it
    assert at(20)[0].startswith(far)
    assert not at(290)[0].startswith(far)  # most of what stands before it is new
    assert at(0, "", ["other\n"] * 20)[0].startswith("rest\nother\nother")


def test_without_a_mark_for_files_more_of_a_suffix_follows_the_prefix(
    open_model: Open, tmp_path: Path
) -> None:
    path = tiny.write(tmp_path / "alone.gguf", controls=(*tiny.CONTROLS, *MARKS[:3]))
    prompts = InfillPrompts(open_model(path).weights.vocab)
    with_it, without = (prompts.prompt("a", Infill(text), 999, "")[0] for text in ("b\n" * 90, ""))
    assert len(with_it) - len(without) == 64


def test_a_prediction_is_copied_from_the_first_token_on(vocab: Vocab) -> None:
    tokens, context = InfillPrompts(vocab).prompt("a = b", Infill("\n"), 500, "c(d, e)")
    source = SuffixSource(context, len(tokens))
    source.read(tokens)
    run: Any = source.offer(tokens, 5)
    assert b"".join(map(vocab.piece, run.tokens)) == b"c(d, "


def test_a_prediction_keeps_the_loss_limit(filling: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[bool]()
    monkeypatch.setattr(Controller, "begin", lambda _, little, *how: begun.append(little))
    monkeypatch.setattr("assistant.decoding.sources.edit.EditSource", None)  # no second copy
    with loaded(EngineArgs(filling, None, 512, threads=1, measure=False)) as (assistant, _):
        assistant.controller = Controller(Costs({1: 1.0, 2: 1.1}, {1: 0.1, 2: 0.2}))
        for prediction in ("", "b"):
            gap = Request((Message("user", "a"),), infill=Infill("c"), max_tokens=1)
            [*assistant.reply(replace(gap, prediction=prediction), Control("ars"))]
    assert begun == [True, False]


def suggesting(last: LastSuggestions, before: str, *pieces: str, **asked: Any) -> tuple[Any, ...]:
    """Return what is asked: text, the letters of typed tokens, the last one's rest, prediction."""
    request = Request((Message("user", before),), infill=Infill(""))
    wanted: Any = last.predict(replace(request, **asked), answer := AnswerDeltas())
    answer.tokens = [Token(ord(text[0]), text, Origin.TARGET, None, 1, None) for text in pieces]
    typed = "".join(map(chr, wanted.infill.typed))
    return wanted.messages[0].content, typed, answer.lead, wanted.prediction


def test_typed_text_of_a_suggestion_begins_its_answer_in_the_decoded_tokens() -> None:
    last = LastSuggestions()
    assert suggesting(last, "x = ", "self", ".width", "\n") == ("x = ", "", "", "")
    assert suggesting(last, "x = s") == ("x = ", "s", "elf", ".width\n")  # replaced: no answer
    assert suggesting(last, "x = self.w", "\n", "y") == ("x = ", "s.", "idth", "\n")
    assert suggesting(last, "x = self.wi", "\n") == ("x = ", "s.", "dth", "\ny")
    cut: Any = {"stop_strings": ("lf.x",)}, {"infill": Infill("f.x = 10, 20")}
    assert all(suggesting(last, "x = ", "self", ".width", **stops)[0] == "x = " for stops in cut)
    for other in (*cut, {"infill": Infill("a")}, {"max_tokens": 9}, *[{"logprobs": 0}] * 2):
        assert suggesting(last, "x = s", "elf", ".w", **other) == ("x = s", "", "", "")
    assert suggesting(last, "y", *"z" * 99) == ("y", "", "", "")
    assert [len(suggesting(last, "y" + "z" * count)[1]) for count in (64, 65)] == [64, 0]


def test_text_that_an_editor_sends_no_more_stays_before_a_gap() -> None:
    lines, last = [f"line {number} of a file\n" for number in range(500)], LastSuggestions()

    def earlier(first: int, end: int) -> str:
        text = "".join(lines[first:end])
        return str(suggesting(last, text, "x y", "z")[0]).removesuffix(text)

    parts = ((0, 200), (1, 201), (9, 209), (4, 204), (130, 330))
    assert [earlier(*part) for part in parts] == ["".join(lines[:first]) for first, _ in parts]
    assert suggesting(last, "".join(lines[130:330]) + "x ")[1:3] == ("x", "y")
    assert earlier(230, 430) == ""  # it would be longer than what is sent
    assert earlier(240, 430) == ""  # lines may have been deleted
    assert [earlier(first, 340) for first in (300, 301)] == ["", ""]  # may be a whole file
    assert [earlier(first, 440) for first in (340, 341)] == ["", ""]  # its first line was deleted


def test_little_is_read_again_for_a_key_and_nothing_if_it_was_suggested(editor: Running) -> None:
    body = {"input_prefix": "another file: t", "input_suffix": "a line\n" * 90, "n_predict": 12}
    first = editor.answer("/infill", body)
    assert first["tokens_evaluated"] > 240
    for typed, read in ((first["content"][:1], 1), (first["content"][:7], 1), ("!", 28)):
        again = editor.answer("/infill", {**body, "prompt": typed})
        assert again["timings"]["prompt_n"] <= read
        assert (typed + again["content"]).startswith(first["content"]) == (read == 1)


def test_llama_vim_gets_the_fields_that_it_asks_for(editor: Running) -> None:
    paths = [*VIM["response_fields"], "generation_settings/n_predict"]
    answer = editor.answer("/infill", {**VIM, "response_fields": [*paths, "no/such"]})
    assert [*answer] == paths
    assert answer["timings/predicted_n"] == answer["generation_settings/n_predict"] == 12
    whole = editor.answer("/infill", {**VIM, "response_fields": []})
    assert (whole["content"], whole["stop"]) == (answer["content"], True)
    assert whole["timings"]["cache_n"] > 0


def test_a_prompt_without_an_answer_is_read_for_the_next_one(editor: Running) -> None:
    assert editor.answer("/infill", {**WARM, "response_fields": [""]}) == {}
    assert editor.answer("/infill", {**WARM, "strict_api": True})["content"] == ""


@pytest.mark.parametrize("name", EDITORS)
def test_the_request_of_each_plugin_is_obeyed_to_the_letter(editor: Running, name: str) -> None:
    path, body = ASKED[name]
    whole = text_of(editor.answer(path, {**body, "stream": False, "strict_api": True}))
    _, stream = editor.post(path, {**body, "stream": True, "strict_api": True})
    events = [line[len("data: ") :] for line in stream.splitlines() if b"data: {" in line]
    assert whole == "".join(text_of(json.loads(event)) for event in events) != ""
    assert whole == editor.answer("/infill", {**ASKED["vscode"][1], "input_extra": []})["content"]


@pytest.mark.parametrize("marks", GAP_MARKS, ids=" ".join)
def test_marks_that_a_client_writes_are_those_of_a_gap(marks: tuple[str, str, str]) -> None:
    prompt = f"{marks[0]}{BEFORE}{marks[1]}{AFTER}{marks[2]}"
    for text, infill in {prompt: Infill(AFTER), f"a{prompt}": None, f"{prompt}b": None}.items():
        assert from_text({"prompt": text}, Notices(), Request(())).defaults.infill == infill


def test_identical_requests_at_once_do_not_replace_each_other(editor: Running) -> None:
    path, body = ASKED["minuet"]
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(editor.post, path, {**body, "max_tokens": 400}) for _ in range(3)]
        assert [job.result()[0] for job in jobs] == [200] * 3


def test_several_completions_are_refused_if_read_strictly(editor: Running) -> None:
    several = {**ASKED["vscode"][1], "n_cmpl": 3}
    assert text_of(editor.answer("/infill", several))
    assert editor.post("/infill", {**several, "strict_api": True})[0] == 400


def test_an_indent_that_no_line_has_is_refused_in_a_sentence(editor: Running) -> None:
    status, answer = editor.post("/infill", {**VIM, "n_indent": 10**12})
    assert (status, b"n_indent" in answer) == (400, True)


def test_without_infill_tokens_the_refusal_names_a_model_with_them(running: Running) -> None:
    with pytest.raises(openai.BadRequestError, match=r"qwen2\.5-coder-1\.5b can"):
        running.client().completions.create(model="tiny", prompt="a", suffix="b")


def test_an_answer_ends_where_it_begins_to_repeat_what_follows(filling: Path) -> None:
    assert Infill("\n\n    return width\n}\n").suffix_start == "\n\n    return width\n"
    assert Infill(")\n").suffix_start == ""
    gap = Infill(")\n    return 1\n")
    form = Constraint("regex", r"x\)\n    return 1\ny")
    request = Request((Message("user", "f("),), infill=gap, constraint=form, max_tokens=40)
    with loaded(EngineArgs(filling, None, 512, threads=1, measure=False)) as (assistant, _):
        end: Any = [*assistant.reply(request, Control("ars"))][-1]
    assert (end.text, end.stop) == ("x", Stop.STOP_STRING)


def test_a_newer_request_of_a_client_replaces_the_one_under_way(tmp_path: Path) -> None:
    path = tiny.write(tmp_path / "slow.gguf", layers=60, n_ctx=8192, stops=False, controls=CONTROLS)
    body = {"input_prefix": BEFORE, "input_suffix": AFTER, "n_predict": 8000}
    serving_slowly = serving(path, n_ctx=8192, measure=False)
    # If nothing is replaced, closing the server ends what the pool waits for.
    with ThreadPoolExecutor(2) as pool, serving_slowly as slow:
        older = pool.submit(slow.post, "/infill", body)
        slow.until(lambda: slow.engine.answers)
        newer = pool.submit(slow.answer, "/infill", {**body, "input_prefix": "x", "n_predict": 1})
        slow.until(lambda: slow.engine.asked[2:])
        assert slow.engine.asked[1].is_cancelled
        assert older.result(WAIT_S)[0] == 499
        assert newer.result(WAIT_S)["stop"]
