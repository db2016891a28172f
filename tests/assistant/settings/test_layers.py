"""`Layers`: which of several values of a key is in force, and which choices are saved."""

import os
from pathlib import Path

import pytest

from assistant.settings.layers import Choice, Layers, load, read_choices, with_models, write_choices
from models import catalog
from models.errors import StorageError
from tests.assistant.settings.configs import config_of

USUAL = catalog.DEFAULT.target.name


@pytest.fixture(autouse=True)
def state(unset_home: Path) -> Path:
    return unset_home / "state.json"


def given(layers: Layers, *names: str) -> list[object]:
    return [layers.in_force[name][0] for name in names]


def source(layers: Layers, name: str) -> str:
    return str(layers.in_force[name][1])


@pytest.mark.parametrize(
    ("file", "chosen", "variable", "option", "value"),
    [
        (None, None, None, None, "auto"), (2, None, None, None, 2), (2, 5, None, None, 5),
        (2, 5, "3", None, 3), (2, 5, "3", 4, 4), (None, 5, "3", None, 3), (None, None, None, 4, 4),
        (2, 5, None, "auto", "auto"), (2, "auto", None, None, "auto"), (2, None, "", None, 2),
        (2, None, "auto", None, "auto"),
    ],
)  # fmt: skip
def test_an_option_beats_all_other_settings(monkeypatch, file, chosen, variable, option, value):
    if variable is not None:
        monkeypatch.setenv("SPECCHAT_THREADS", variable)
    if chosen is not None:
        write_choices({"threads": Choice(chosen, file)}, {})
    config = config_of("" if file is None else f"threads = {file}")
    assert given(load({"threads": option, "other": 1}, config), "threads") == [value]


def test_words_leave_a_value_open_and_folders_mean_the_persons_home():
    text = 'threads = "auto"\nseed = "random"\nmax_tokens = "none"\ntarget = "auto"\n'
    config = config_of(f'{text}model_folders = ["~/models"]')
    chosen = load({}, config).settings()
    assert (chosen.threads, chosen.seed, chosen.max_tokens, chosen.target) == (None,) * 4
    assert load({"draft": "none"}, config).settings().draft == "none"
    assert chosen.folders == (Path.home() / "models",)


# What was chosen in the program


def test_a_choice_beats_the_file_until_the_file_says_something_else():
    chosen = load({}, config_of("temperature = 1")).choose(temperature=0.4)
    assert (given(chosen, "temperature"), source(chosen, "temperature")) == ([0.4], "state.json")
    write_choices(chosen.choices, {})
    assert given(load({}, config_of("temperature = 1")), "temperature") == [0.4]
    assert given(load({}, config_of("temperature = 1.5")), "temperature") == [1.5]
    assert given(load({}, config_of("")), "temperature") == [0.4]  # deleted there: it says nothing
    assert chosen.choose(temperature=1.0).choices == {}  # what counts anyway
    write_choices(load({}, config_of("")).choose(mode="ars").choices, {})
    assert given(load({}, config_of('mode = "sps"')), "mode") == ["sps"]  # it began to say


def test_a_choice_beats_what_was_given_for_this_run_and_is_kept(monkeypatch):
    monkeypatch.setenv("SPECCHAT_MODE", "ars")
    layers = load({"temperature": 0.3, "top_k": 3}, config_of(""))
    layers = layers.choose(temperature=0.9, mode="sps")
    assert given(layers, "temperature", "top_k", "mode") == [0.9, 3, "sps"]
    assert set(layers.choices) == {"temperature", "mode"}
    assert given(load({}, config_of("")).choose(mode="sps"), "mode") == ["sps"]


def test_a_change_leaves_alone_what_other_keys_of_the_chat_changed():
    before = load({}, config_of(""))
    shown = load({"ghosts": True}, config_of("")).settings()
    after = before.choose(temperature=0.9).settings(shown, before)
    assert (after.ghosts, after.temperature) == (True, 0.9)


@pytest.mark.parametrize(
    ("before", "target", "draft", "kept"),
    [
        (None, "other", "small", {"target": "other"}),
        (None, USUAL, None, {}),
        (None, USUAL, "small", {"draft": "small"}),
        ("other", "other", "none", {"target": "other", "draft": "none"}),
        ("other", "third", "small", {"target": "third"}),
        ("other", USUAL, None, {}),
    ],
)
def test_a_draft_is_kept_for_the_target_it_was_chosen_for(before, target, draft, kept):
    layers = load({}, config_of(""))
    layers = with_models(layers, None, before, None) if before else layers
    layers = with_models(layers, before, target, draft)
    assert {name: choice.value for name, choice in layers.choices.items()} == kept


# The file that keeps it


def test_the_choices_of_another_window_or_version_stay_and_no_change_writes_nothing(state):
    write_choices({"mode": Choice("ars", None)}, {"mode": Choice("ars", None)})
    assert not state.exists()
    write_choices({"theme": Choice("nord", None)}, {})
    state.write_text(state.read_text()[:-1] + ', "new_key": {"value": 1}, "mode": {"value": 7}}')
    write_choices({"ctx": Choice(1024, 512)}, {"theme": Choice("nord", None)})
    assert read_choices() == ({"ctx": Choice(1024, 512)}, "")
    assert '"new_key": {"value": 1}' in state.read_text()


def test_a_name_that_is_not_utf8_is_kept():
    name = os.fsdecode(b"\xff.gguf")
    write_choices(load({}, config_of("")).choose(target=name).choices, {})
    assert given(load({}, config_of("")), "target") == [name]


@pytest.mark.parametrize("content", [b"oops", b"[]", b'{"mode": 3}', b"\xff", b"[" * 10_000, b""])
def test_a_damaged_file_is_set_aside_and_said(state, content):
    state.write_bytes(content)
    layers = load({}, config_of(""))
    assert layers.settings().warnings == (
        f"{state} was damaged and is now state.damaged: what you chose is forgotten.",
    )
    assert state.with_suffix(".damaged").read_bytes() == content
    assert load({}, config_of("")).settings().warnings == ()


def test_a_file_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "file"))
    with pytest.raises(StorageError, match=r"state.json cannot be written: File exists\."):
        write_choices({"mode": Choice("ars", None)}, {})
