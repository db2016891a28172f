"""The manual, made from the code of the command line: `python -m tests.tools.manual` writes it.

It writes docs/commands/COMMAND.md for each command, and docs/specchat.1, the man page.
"""

import json
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from assistant.settings.settings import KEYS
from tests import ROOT
from tui.shell.cli import COMMANDS, specchat

PAGES, MAN = ROOT / "docs" / "commands", ROOT / "docs" / "specchat.1"
SHARED = {name for name, key in KEYS.items() if key.option}
"""Options that most commands have; described once, with `specchat` itself."""
_WORDS = json.loads(Path(__file__).with_name("manual.json").read_text())
EXIT, ENVIRONMENT = _WORDS["exit"], _WORDS["environment"]
"""What exit codes and variables of the environment mean."""
StoredMessage = tuple[str, str]


def pages() -> dict[Path, str]:
    """Return the text of every file of the manual."""
    commands = {PAGES / f"{name}.md": page((name,), command_of(name)) for name in COMMANDS}
    return {PAGES / "specchat.md": page((), specchat), **commands, MAN: man()}


def command_of(name: str) -> click.Command:
    _, command, _ = specchat.resolve_command(click.Context(specchat), [name])
    assert command is not None
    return command


def context(names: tuple[str, ...], command: click.Command) -> click.Context:
    return click.Context(command, info_name=" ".join(("specchat", *names)))


def usage(names: tuple[str, ...], command: click.Command) -> str:
    pieces = command.collect_usage_pieces(context(names, command))
    return " ".join(["specchat", *names, *pieces])


def help_paragraphs(command: click.Command) -> list[str]:
    """The paragraphs of a command's help, each in one line."""
    text = cleandoc((command.help or "").partition("\f")[0].replace("\b", ""))
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def options(names: tuple[str, ...], command: click.Command) -> list[StoredMessage]:
    """The options of a command; those that all share only with `specchat` itself."""
    ctx = context(names, command)
    shown = [each for each in command.get_params(ctx) if not names or each.name not in SHARED]
    return [record for each in shown if (record := each.get_help_record(ctx))]


def below(command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group) and command is not specchat:
        yield from command.commands.items()


def page(names: tuple[str, ...], command: click.Command, depth: int = 1) -> str:
    """A command as Markdown, and those below it."""
    title = " ".join(("specchat", *names))
    lines = [f"{'#' * depth} {title}", "", "```", usage(names, command), "```", ""]
    for paragraph in help_paragraphs(command):
        lines += [escaped(paragraph), ""]
    if records := options(names, command):
        lines += table("option", [(f"`{name}`", escaped(text)) for name, text in records])
    if names and any(parameter.name in SHARED for parameter in command.params):
        lines += ["And [the options that all commands share](specchat.md).", ""]
    if command is specchat:
        lines += [f"- [{name}]({name}.md): {text}" for name, (_, text) in COMMANDS.items()]
        lines += ["", *table("exit code", EXIT)]
        lines += table("variable", [(f"`{name}`", text) for name, text in ENVIRONMENT])
    text = "\n".join(lines)
    for name, child in below(command):
        text += "\n" + page((*names, name), child, depth + 1)
    return text


def table(title: str, rows: list[StoredMessage]) -> list[str]:
    cells = [tuple(text.replace("|", "\\|") for text in row) for row in rows]
    return [f"| {title} | |", "|---|---|", *(f"| {a} | {b} |" for a, b in cells), ""]


def escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*")


def man() -> str:
    """The man page, without a date: it is the same whenever it is made."""
    first, *rest = help_paragraphs(specchat)
    lines = [
        '.TH SPECCHAT 1 "" "specchat" "User commands"',
        ".SH NAME",
        r"specchat \- a local assistant with exact speculative sampling",
        ".SH SYNOPSIS",
        f".B {roff(usage((), specchat))}",
        ".SH DESCRIPTION",
        roff(first),
    ]
    for paragraph in rest:
        lines += [".PP", roff(paragraph)]
    lines += [".SH OPTIONS", "Most commands take these, too.", *tagged(options((), specchat))]
    lines += [".SH COMMANDS"]
    for name in COMMANDS:
        lines += described((name,), command_of(name))
    lines += [".SH EXIT STATUS", *tagged(EXIT), ".SH ENVIRONMENT", *tagged(ENVIRONMENT)]
    return "\n".join([*lines, ""])


def described(names: tuple[str, ...], command: click.Command) -> Iterator[str]:
    yield f".SS {roff(usage(names, command))}"
    for number, paragraph in enumerate(help_paragraphs(command)):
        yield from ([".PP"] if number else [])
        yield roff(paragraph)
    yield from tagged(options(names, command))
    for name, child in below(command):
        yield from described((*names, name), child)


def tagged(records: "tuple[StoredMessage, ...] | list[StoredMessage]") -> Iterator[str]:
    for name, text in records:
        yield from (".TP", f".B {roff(name)}", roff(text))


def roff(text: str) -> str:
    """A text that troff shows as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def main() -> None:
    PAGES.mkdir(parents=True, exist_ok=True)
    written = pages()
    for old in set(PAGES.glob("*.md")) - written.keys():
        old.unlink()
    for path, text in written.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
