"""`config.toml`: allowed values, precedence, and the sentence for each fault."""

import json
import os
import tomllib
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from textual.theme import BUILTIN_THEMES

from assistant.request import Sampling
from assistant.settings.config_file import Config, read
from assistant.settings.keys import shown
from assistant.settings.layers import Layers
from assistant.settings.settings import KEYS, THEMES, Settings
from assistant.settings.template import literal, template
from models.errors import UsageError
from models.files import places
from tests.assistant.settings.configs import config_of

FAULTS = json.loads(Path(__file__).with_name("faults.json").read_text())
"""Texts of files, and how each is refused or warned of after the file's name."""
DIGITS = ": top_k must be a whole number from 0 to 1000000: a number of thousands of digits"


def test_a_file_that_is_not_there_says_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "not" / "here"))
    assert read() == Config(tmp_path / "not" / "here" / "config.toml")


def test_defaults_of_the_table_are_those_of_the_settings():
    assert replace(Layers().settings(), sources={}) == Settings()
    assert Settings().sampling == Sampling()
    others = {"tools", "sources", "warnings"}
    assert {key.field for key in KEYS.values()} | others == {own.name for own in fields(Settings)}


@pytest.mark.parametrize("name", Sampling.RANGES)
def test_the_sampler_accepts_every_value_that_the_table_allows(name):
    key, allowed = KEYS[name], Sampling.RANGES[name]
    for value in (1e-9 if allowed.above else allowed.low, allowed.high, key.default):
        checked = key.check(value)
        assert checked is not None
        Sampling(**{name: checked})


def test_every_theme_offered_is_textuals():
    assert set(THEMES) <= set(BUILTIN_THEMES)
    assert KEYS["theme"].default in THEMES


@pytest.mark.parametrize(
    ("text", "complaint"),
    [*FAULTS["refused"], pytest.param(f"top_k = 0x{'1' * 5_000}", DIGITS, id="digits")],
)
def test_a_fault_is_named_by_file_key_value_and_what_is_allowed(text, complaint):
    with pytest.raises(UsageError) as caught:
        config_of(text)
    assert str(caught.value).removesuffix(".") == f"config.toml{complaint}"


def test_all_faults_of_a_file_are_named_at_once():
    top = "top_p = 0\nseed = 'x'\nmode = 'ars'\nctx = 1\n[tools]\nrounds = 0\nfolders = 1\n"
    servers = "[tools.servers.a]\nurl = 3\nenv = { A = 1 }\n[tools.servers.b]\nargs = ['x']\n"
    with pytest.raises(UsageError) as caught:
        config_of(f"{top}{servers}")
    faults = str(caught.value).splitlines()
    names = ["top_p", "seed", "ctx", "rounds", "folders", "A", "url", "The"]
    assert [fault.split(": ", 1)[1].split()[0] for fault in faults] == names


@pytest.mark.parametrize(("text", "warning"), FAULTS["warned of"])
def test_an_unknown_key_is_a_warning_with_a_guess(text, warning):
    assert config_of(text).warnings == (f"config.toml{warning}",)


def test_a_file_with_windows_line_ends_and_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xef\xbb\xbfmode = 'sps'\r\nthreads = 3\r\n")
    assert read(path).values == {"mode": "sps", "threads": 3}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"mode = 'sps'\ntheme = '\xff'", "config.toml:2: this is not UTF-8"),
        (b"#" * (2 << 20), "larger than 1 MB"),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
    ],
    ids=["no text", "huge", "deep"],
)
def test_a_file_that_no_settings_can_be_in_is_refused(tmp_path, data, why):
    path = tmp_path / "config.toml"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=why):
        read(path)


@pytest.mark.parametrize("other", ["folder", "pipe", "/dev/zero", "/dev/null"])
def test_a_config_that_is_not_a_regular_file_is_refused_and_never_waited_for(tmp_path, other):
    path = tmp_path / "config.toml"
    if other == "folder":
        path.mkdir()
    elif other == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(other)
    with pytest.raises(UsageError, match="not a regular file"):
        read(path)


def test_template_sets_nothing_and_names_every_key():
    text = template()
    assert tomllib.loads(text) == {}
    for key in KEYS.values():
        assert f"# {key.name} = {literal(key.default)}\n" in text
        assert key.help in text.replace("\n# ", " ")
    assert max(map(len, text.splitlines())) <= 100


def test_template_with_every_key_uncommented_says_the_defaults():
    lines = template().splitlines()
    live = [line[2:] for line in lines if line[2:].split(" = ")[0] in KEYS]
    top = "\n".join(live[: len(KEYS)])
    assert config_of(top).values == {name: key.default for name, key in KEYS.items()}


def test_values_are_shown_as_they_are_typed():
    for key in KEYS.values():
        assert key.parse(shown(key.default)) == key.default


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_config_is_where_people_of_the_terminal_look_for_it(platform, monkeypatch, tmp_path):
    monkeypatch.delenv("SPECCHAT_HOME", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(places.sys, "platform", platform)
    assert places.config_dir() == tmp_path / "config" / "specchat"
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "home"))
    assert places.config_dir() == tmp_path / "home"


def test_config_on_a_mac_stays_in_application_support_where_there_is_one(monkeypatch, tmp_path):
    monkeypatch.delenv("SPECCHAT_HOME", raising=False)
    monkeypatch.setattr(places.sys, "platform", "darwin")
    support = tmp_path / "Application Support"
    monkeypatch.setattr(places, "user_config_path", lambda *names, **options: support)
    assert places.config_dir() != support
    support.mkdir()
    (support / "config.toml").touch()
    assert places.config_dir() == support


# Whatever a file says, it is understood or refused in one sentence.

NAMES = st.sampled_from([*KEYS, "tools", "tools.a", "x", '"a b"', "tools.x", "temprature"])
VALUES = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats().map(lambda number: repr(number)),
    st.sampled_from(["true", "false", "[]", "{}", "[[1]]", "{a=1}", "1979-05-27", "'auto'", "''"]),
    st.text().map(lambda text: f"'''{text}'''"),
    st.text(st.characters(codec="ascii")),
)
LINES = st.one_of(
    st.tuples(NAMES, VALUES).map(" = ".join),
    NAMES.map(lambda name: f"[{name}]"),
    NAMES.map(lambda name: f"[[{name}]]"),
    st.text(),
)


@given(st.lists(LINES, max_size=8).map("\n".join))
@settings(max_examples=500)
@example("a = " + "9" * 5000)
@example("[[tools]]")
def test_any_text_is_understood_or_refused_in_one_sentence(text):
    with suppress(UsageError):
        Layers(config_of(text)).settings()


@given(st.sampled_from(list(KEYS)), st.text())
@settings(max_examples=500)
def test_any_typed_text_is_taken_or_refused(name, text):
    value = KEYS[name].parse(text)
    assert value is None or KEYS[name].check(value) == value
    KEYS[name].rejection(text)
