"""`specchat ask` with a model that thinks: the answer alone, unless the thought is asked for."""

import json

import pytest

from tests.tui.shell.program import HOT, run


@pytest.fixture
def known(thinking_target):
    return ("ask", "--target", thinking_target, "--draft", "none", *HOT, "--max-tokens", "24")


def test_the_answer_is_printed_alone_and_the_thought_before_it_when_told_to(known):
    asked = (*known, "--thinking-budget", "6")
    report = json.loads(run(*asked, "--json", "Why?")[1])
    assert list(report)[:2] == ["text", "reasoning_content"]
    thought, text = report["reasoning_content"], report["text"]
    alone, both = run(*asked, "Why?")[1], run(*asked, "--show-thinking", "Why?")[1]
    assert thought
    assert text
    assert len(both) >= len(alone) + len(thought.rstrip("\x00"))
    assert both.endswith(f"\n\n{alone}")


def test_an_option_of_thinking_is_refused_where_a_setting_is_not(known, target, home):
    plain = ("ask", "--target", target, "--draft", "none", *HOT, "--max-tokens", "4")
    code, out, err = run(*plain, "--thinking", "on", "Why?")
    assert (code, out) == (2, "")
    assert "does not think" in err
    assert run(*known, "--effort", "low", "Why?")[0] == 2
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text('thinking = "on"\n')
    code, _, err = run(*plain, "Why?")
    assert code == 0
    assert "does not think" in err
