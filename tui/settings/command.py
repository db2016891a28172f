"""`specchat config`: the path of the configuration, and every value with its source."""

import json

import click

from assistant.settings.config_file import config_path
from assistant.settings.keys import Value, display
from assistant.settings.layers import STATE, Layers, load
from assistant.settings.settings import DEFAULT, KEYS
from tui.safe import safe


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

    Options before the command count too: specchat --ctx 4096 config show
    """
    layers = load(context.find_root().params)
    for notice in layers.settings().warnings:
        click.echo(f"specchat: {safe(notice)}", err=True)
    if as_json:
        click.echo(json.dumps(_report(layers)))
    else:
        _print(layers)


@config.command()
def template() -> None:
    """Print a config.toml in which every key is explained and none is set."""
    from assistant.settings.template import template

    click.echo(template(), nl=False)


def _print(layers: Layers) -> None:
    config = layers.config
    for name, (value, source) in layers.in_force.items():
        line = f"{name:<15} {_short(value):<30} {source}"
        below, other = layers.base[name]
        if source == STATE and other != DEFAULT:
            line += f" (instead of {_short(below)} from {other})"
        click.echo(click.style(safe(line), dim=True) if source == DEFAULT else safe(line))
    for folder in config.tools.folders:
        click.echo(safe(f"tools folder: {folder}"))
    for server in config.tools.servers:
        click.echo(safe(f"tools server {server.name}: {server.command or server.url}"))
    hint = "" if config.path.is_file() else " (not there; specchat config template prints one)"
    click.echo(safe(f"\n{config.path}{hint}"), err=True)


def _short(value: Value) -> str:
    text = display(value).replace("\n", "⏎")
    return text if len(text) <= 30 else f"{text[:29]}…"


def _report(layers: Layers) -> dict[str, object]:
    config, tools = layers.config, layers.config.tools
    servers = {server.name: server.command or server.url for server in tools.servers}
    folders = [*map(str, tools.folders)]
    return {
        "path": str(config.path),
        "values": {
            name: {
                "value": value,
                "source": source.kind,
                "from": str(source),
                "default": KEYS[name].default,
            }
            for name, (value, source) in layers.in_force.items()
        },
        "tools": {"folders": folders, "rounds": tools.rounds, "servers": servers},
    }
