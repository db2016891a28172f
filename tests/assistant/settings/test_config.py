"""`config.toml`: allowed values, precedence, and the sentence for each fault."""

import json
import os
import sys
import tomllib
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st
from textual.theme import BUILTIN_THEMES

from assistant.request import Sampling
from assistant.settings.config_file import Config, add_tools, read
from assistant.settings.keys import display
from assistant.settings.layers import Layers, load
from assistant.settings.settings import KEYS, THEMES, Settings
from assistant.settings.template import literal, template
from models.errors import UsageError
from models.files import places
from tests.assistant.settings.configs import config_of
from tui.settings.command import config

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
    for value in (1e-9 if allowed.excludes_low else allowed.low, allowed.high, key.default):
        checked = key.check(value)
        assert checked is not None
        assert Layers(config_of(f"{name} = {checked}")).settings().sampling


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
    live = [line[2:] for line in template().splitlines() if line[2:].split(" = ")[0] in KEYS]
    top = "\n".join(live[: len(KEYS)])
    assert config_of(top).values == {name: key.default for name, key in KEYS.items()}


def test_values_are_shown_as_they_are_typed():
    for key in KEYS.values():
        assert key.parse(display(key.default)) == key.default


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_config_is_where_people_of_the_terminal_look_for_it(platform, monkeypatch, tmp_path):
    monkeypatch.delenv("SPECCHAT_HOME", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(sys, "platform", platform)
    assert places.config_dir() == tmp_path / "config" / "specchat"
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "home"))
    assert places.config_dir() == tmp_path / "home"


def test_config_on_a_mac_stays_in_application_support_where_there_is_one(monkeypatch, tmp_path):
    monkeypatch.delenv("SPECCHAT_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
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


# The tables of folders and servers

WHOLE = """
[tools]
folders = ["~/notes"]
rounds = 3
[tools.servers.weather]
command = "weather-server"
args = ["--city", "Bern"]
cwd = "$HOME"
env = { TOKEN = "x" }
[tools.servers.local]
url = "http://127.0.0.1:9/mcp"
"""
SERVER = "[tools.servers.a]\n"


def test_folders_and_servers_are_what_the_tables_say() -> None:
    tools = load({}, config_of(WHOLE)).settings().tools
    weather, local = tools.servers
    assert tools.folders == (Path.home() / "notes",)
    assert tools.rounds == 3
    assert (weather.name, weather.command, weather.args) == (
        "weather", "weather-server", ("--city", "Bern"),
    )  # fmt: skip
    assert (weather.env, weather.cwd) == ((("TOKEN", "x"),), str(Path.home()))
    assert local.url == "http://127.0.0.1:9/mcp"
    assert not load({}, config_of("")).settings().tools


def test_a_header_has_its_secret_from_the_environment_alone(unset_home: Path, monkeypatch) -> None:
    monkeypatch.setenv("GARDEN_TOKEN", "sesame $HOME ${PATH}")
    line = 'headers = { Authorization = "Bearer ${GARDEN_TOKEN}", X-Plot = "$7" }'
    text = f'{SERVER}url = "http://127.0.0.1:9/mcp"\n{line}\n'
    found = config_of(text)
    (server,) = found.tools.servers
    assert dict(server.headers) == {"Authorization": "Bearer sesame $HOME ${PATH}", "X-Plot": "$7"}
    assert "sesame" not in repr(found)
    (unset_home / "config.toml").write_text(text)
    for options in ((), ("--json",)):
        shown = CliRunner().invoke(config, ["show", *options])
        assert (shown.exit_code, "127.0.0.1:9" in shown.output) == (0, True)
        assert "sesame" not in shown.output


def test_an_unknown_key_is_a_warning_and_the_template_shows_the_known_ones() -> None:
    text = f"{SERVER}comand = 'x'\ncommand = 'x'"
    assert config_of(text).warnings == (
        'config.toml, [tools.servers.a]: there is no key "comand"; did you mean "command"?',
    )
    lines = template().split("# [tools]\n")[1].split("\n\n")[0].splitlines()
    shown = "\n".join(["[tools]", *(line.removeprefix("# ") for line in lines)])
    assert config_of(shown).tools.servers[0].command == "some-server"


@pytest.mark.parametrize(
    "before",
    [
        "", "theme = 'nord'\n# [tools]\n", "[tools]\n", "[tools]  # mine\nrounds = 3\n",
        '[tools]\nrounds = 3\nfolders = ["/"]\n[tools.servers.one]\ncommand = "true"\n',
        '[tools.servers.one]\ncommand = "true"\n', '[tools]\nfolders = [\n  "/",\n]\n',
    ],
)  # fmt: skip
def test_an_added_tool_keeps_the_other_lines(unset_home, tmp_path, before, monkeypatch) -> None:
    path = unset_home / "config.toml"
    path.write_text(before)
    known = read().tools
    (unset_home / "run").touch(0o755)
    monkeypatch.setenv("HOME", str(unset_home))
    add_tools(str(tmp_path))
    with pytest.raises(UsageError, match="already"):
        add_tools(f"{tmp_path}/")
    add_tools("true --some 'odd one'")
    add_tools("http://127.0.0.1:8000/mcp")
    for _ in range(3):
        add_tools("~/run ~/docs/a-name-that-is-longer-than-24")
    after = read().tools
    assert {*after.folders} == {*known.folders, tmp_path}
    assert after.rounds == known.rounds
    new = [(each.command, each.args, each.url) for each in after.servers[len(known.servers) :]]
    run = f"{unset_home}/run", (f"{unset_home}/docs/a-name-that-is-longer-than-24",), ""
    assert new[:2] == [("true", ("--some", "odd one"), ""), ("", (), "http://127.0.0.1:8000/mcp")]
    assert new[2:] == [run] * 3
    assert all(line in path.read_text() for line in before.splitlines() if "folders" not in line)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("/no/such/folder", "no folder"),
        ("no-such-program", "no program"),
        ("'", "closing quotation"),
        ("", "needed"),
        ("http://elsewhere.example/mcp", "another machine"),
        ("http://[", "must be like"),
    ],
)
def test_a_line_that_is_no_tool_changes_no_file(unset_home: Path, line: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        add_tools(line)
    assert not (unset_home / "config.toml").exists()
