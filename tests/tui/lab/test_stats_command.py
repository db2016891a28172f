import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assistant.store import Store
from tests.assistant.lab.test_answer_history import ARS, SPS
from tests.assistant.store.talks import trace
from tui.lab.stats import stats

ROOT = Path(__file__).parents[3]


@pytest.fixture
def filled(home):
    store = Store(home / "chats.db")
    conversation, parent = store.begin(), None
    for number, figures in enumerate([ARS, SPS, replace(SPS, prompt_tokens=9000)]):
        parent = store.ask(conversation, parent, "What?").id
        name = "big \x1b]0;x\x07" + "g" * 60 * number
        parent = store.answers.begin(conversation, parent, name if number == 2 else "big").id
        text = "```\ncode\n```" if number else "Prose."
        store.answers.end(parent, text, (1,), trace(1), figures, "stop-token", "complete")
    store.close()
    return home


def test_a_look_back_fits_a_terminal_and_says_what_it_compares(filled):
    text = CliRunner().invoke(stats).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "3 answers from" in text
    (row,) = [line for line in text.splitlines() if line.startswith("big + small")]
    assert row.split() == ["big", "+", "small", "1", "▰▰▰▰▰▰▱▱", "75%", "2.50", "2.50×"]
    assert "".join(line.strip() for line in text.splitlines()).count("g" * 120) == 1  # told whole
    assert "code" in text
    assert "8,192 and more" in text
    assert "Accepted by place in the round" in text


def test_json_has_the_same_figures(filled):
    report = json.loads(CliRunner().invoke(stats, "--json").stdout)
    assert report["answers"] == 3
    assert report["speedup"] == pytest.approx(2.5)
    assert report["speedup_of_answers"] == 1
    assert [each["kind"] for each in report["kinds"]] == ["prose", "code"]
    assert [each["from_tokens"] for each in report["depths"]] == [0, 8192]
    assert report["acceptance_rate"] == 0.75


def test_without_conversations_nothing_is_made(home):
    result = CliRunner().invoke(stats)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no stored answers" in result.stderr
    assert json.loads(CliRunner().invoke(stats, "--json").stdout)["answers"] == 0
    assert not home.exists()


def test_looking_back_needs_no_model(filled):
    code = (
        "import sys\nfrom tui.lab.stats import stats\n"
        "stats([], standalone_mode=False)\n"
        "assert not {'llama_cpp', 'textual', 'huggingface_hub'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
