"""`specchat config`: where the configuration is, what is in force and where it came from."""

import json
import os
from collections.abc import Mapping

import click

from tui.safe import safe
from tui.settings.config_file import Config, config_path, read
from tui.settings.keys import KEYS
from tui.settings.kinds import Value, shown
from tui.settings.settings import SettingSource, Values, merge


@click.group("config", invoke_without_command=True)
@click.pass_context
def config(context: click.Context) -> None:
    """Show every setting and where it was set; alone, the same as `show`."""
    if context.invoked_subcommand is None:
        context.invoke(show)


@config.command()
def path() -> None:
    """Print where config.toml is, whether it exists or not."""
    click.echo(safe(str(config_path())))


@config.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def show(context: click.Context, as_json: bool) -> None:
    """Show every key, its value and where it was set.

    Options before the command count too: specchat --preset code config show
    """
    found = read()
    values, sources = merge(found, os.environ, context.find_root().params)
    for warning in found.warnings:
        click.echo(f"specchat: {safe(warning)}", err=True)
    if as_json:
        click.echo(json.dumps(_report(found, values, sources)))
    else:
        _print(found, values, sources)


@config.command()
def template() -> None:
    """Print a config.toml in which every key is explained and none is set."""
    from tui.settings.config_writer import template

    click.echo(template(), nl=False)


@config.command()
def keys() -> None:
    """List the names of the app's keys, for the table [keys]."""
    from tui.app.keymap import all_bindings  # imports Textual

    for name, binding in all_bindings().items():
        click.echo(f"{name:<24} {binding.keys:<24} {safe(binding.description)}")


def _print(found: Config, values: Values, sources: Mapping[str, SettingSource]) -> None:
    for name, value in values.items():
        set_ = sources[name].kind != "default"
        line = f"{name:<15} {_short(value):<30} {_place(found, name, sources[name])}"
        click.echo(safe(line) if set_ else click.style(safe(line), dim=True))
    for name, preset in found.presets.items():
        click.echo(safe(f"preset {name}: {', '.join(preset)}"))
    for folder in found.tools.folders:
        click.echo(safe(f"tools folder: {folder}"))
    for server in found.tools.servers:
        click.echo(safe(f"tools server {server.name}: {server.command or server.url}"))
    for name, key in found.keymap.items():
        click.echo(safe(f"key {name}: {key}"))
    there = "" if found.path.is_file() else " (not there; specchat config template prints one)"
    click.echo(safe(f"\n{found.path}{there}"), err=True)


def _short(value: Value) -> str:
    text = shown(value).replace("\n", "⏎")
    return text if len(text) <= 30 else f"{text[:29]}…"


def _place(found: Config, name: str, source: SettingSource) -> str:
    line = found.lines.get(name) if source.kind == "file" else None
    return f"{source}:{line}" if line else str(source)


def _report(
    found: Config, values: Values, sources: Mapping[str, SettingSource]
) -> dict[str, object]:
    return {
        "path": str(found.path),
        "values": {
            name: {
                "value": value,
                "source": sources[name].kind,
                "from": _place(found, name, sources[name]),
                "default": KEYS[name].default,
            }
            for name, value in values.items()
        },
        "presets": found.presets,
        "tools": {
            "folders": [str(folder) for folder in found.tools.folders],
            "rounds": found.tools.rounds,
            "servers": {each.name: each.command or each.url for each in found.tools.servers},
        },
        "keys": found.keymap,
    }
