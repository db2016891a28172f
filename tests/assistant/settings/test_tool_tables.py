"""The tables of folders and servers in `config.toml`, and their faults."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from assistant.settings.config_file import add_tools, read
from assistant.settings.layers import load
from assistant.settings.template import template
from models.errors import UsageError
from tests.assistant.settings.configs import config_of
from tui.settings.command import config

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
    ],
)
def test_a_line_that_is_no_tool_changes_no_file(unset_home: Path, line: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        add_tools(line)
    assert not (unset_home / "config.toml").exists()
