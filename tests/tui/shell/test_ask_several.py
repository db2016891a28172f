"""`specchat ask --n`: several answers, one after another, in a list, or kept side by side."""

import json
import signal

import pytest

from assistant.events import Origin, Token
from assistant.store.store import Store
from tests.patience import WAIT_S
from tests.tui.shell.program import HOT, run, start
from tui.safe import safe
from tui.shell.printing import Printing

FEW = (*HOT, "--max-tokens", "12", "--seed", "3")


def words(text: str) -> list[Token]:
    return [Token(0, text, Origin.TARGET, None, 1.0, None)]


def test_each_answer_has_its_heading_and_ends_a_line(capsys):
    printing = Printing(quiet=False, count=3)
    printing.end_all()  # nothing has begun
    assert capsys.readouterr().out == ""
    printing.add(0, words("one"))
    printing.add(0, words(", one"))
    assert capsys.readouterr().out == "--- 1 of 3 ---\none, one"
    printing.end(0)
    printing.end(1)
    assert capsys.readouterr().out == "\n\n--- 2 of 3 ---\n\n"
    printing.add(2, words("three"))
    printing.end_all()
    assert capsys.readouterr().out == "\n--- 3 of 3 ---\nthree\n"


def test_several_answers_are_those_that_their_seeds_give(target):
    known = ("ask", "--target", target, "--draft", "none", *HOT, "--max-tokens", "12", "--mode=ars")
    _, printed, err = run(*known, "--seed", "3", "--n", "3", "--json", "hello")
    assert err == ""
    report = json.loads(printed)
    assert set(report) == {"answers", "together", "target", "draft", "engine", "sampling", "seed"}
    assert set(report["together"]) == {"rounds", "tokens", "decode_s", "tokens_per_s"}
    assert report["together"]["tokens"] == 36
    for i, answer in enumerate(report["answers"]):
        alone = json.loads(run(*known, "--seed", 3 + i, "--json", "hello")[1])
        assert answer["text"] == alone["text"]
        assert set(answer) == {"text", "stop", "tokens", "stats"}
    code, out, err = run(*known, "--seed", "3", "--n", "3", "hello")
    assert code == 0
    assert "36 tokens in 3 answers" in err
    parts = [f"--- {i + 1} of 3 ---\n{safe(a['text'])}\n" for i, a in enumerate(report["answers"])]
    assert out == "\n".join(parts)


def test_all_answers_are_kept_side_by_side_and_the_first_is_continued(target, home):
    known = ("ask", "--target", target, "--draft", "none", *FEW)
    run(*known, "--chat", "new", "--n", "3", "First?")
    report = json.loads(run(*known, "--chat", "last", "--n", "3", "--json", "Second?")[1])
    store = Store(home / "chats.db")
    path = store.path(1)
    assert [len(record.siblings) or 1 for record in path] == [1, 3, 1, 3]
    assert path[3].id == min(path[3].siblings)
    kept = {record.id: record for record in store.tree(1)}
    texts = [kept[sibling].content for sibling in path[3].siblings]
    assert texts == [answer["text"] for answer in report["answers"]]
    assert all(store.answers.trace(sibling) for sibling in path[3].siblings)
    store.close()


def test_an_interrupt_keeps_what_an_answer_has_and_begins_no_other(endless, home):
    # The likeliest token is never the last one, and ArS takes seconds to fill the context.
    cold = ("--temperature", "0", "--mode", "ars")
    process = start("ask", "--target", endless, *cold, "--chat", "new", "--n", "3", "Well?")
    assert process.stdout.read(40).startswith("--- 1 of 3 ---")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert "---" not in out
    store = Store(home / "chats.db")
    question, only = store.path(1)
    assert (question.content, only.state) == ("Well?", "stopped")
    assert only.content
    assert len(store.tree(1)) == 2
    store.close()


@pytest.mark.parametrize(
    "text", ["all:\n\tgcc  x\n", "  2*3*4 [b]\\ \n\n", "x" * 300, "\u00a0\u200b重"]
)
def test_an_answer_on_a_pipe_is_what_the_model_said_and_the_end_of_a_line(capsys, text):
    printing = Printing(quiet=False, count=1)
    for piece in (text[:7], text[7:]):
        printing.add(0, words(piece))
    printing.end(0)
    assert capsys.readouterr().out == text + "\n"
