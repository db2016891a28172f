"""The command line: its commands and exit codes.

0 ok, 2 usage, 3 model, 4 storage, 5 network, 130 interrupted, 1 anything unexpected. Commands are
imported when they are called, so that help is fast.
"""

import importlib
import os
import resource
import signal
import sys
from typing import Any

import click

from models.errors import ModelError, NetworkError, SpecchatError, StorageError, UsageError
from tui.app.signals import ending_signals, leave
from tui.safe import DEBUG, bug_report, safe
from tui.shell.options import are_terminals, has_terminal, intended_option, settings, shared_options
from tui.shell.standard_output import guard_streams

EXIT_CODES = {UsageError: 2, ModelError: 3, StorageError: 4, NetworkError: 5}
COMMANDS = {
    "ask": ("tui.shell.ask_command", "Get one answer, streamed to standard output."),
    "edit": ("tui.shell.edit_command", "Rewrite files, and see what changes before it is written."),
    "serve": ("tui.shell.serve", "Answer other programs through an OpenAI-style endpoint."),
    "race": ("tui.race.command", "Compare ArS and SpS, side by side, on one prompt."),
    "tune": ("tui.lab.tune", "Measure this machine, and find the fastest settings for it."),
    "prove": ("tui.lab.prove", "Check that speculation changes nothing but the speed."),
    "bench": ("tui.lab.bench_command", "Measure what speculation is worth, like the papers."),
    "models": ("tui.models.command", "See, fetch and check model files."),
    "chats": ("tui.shell.chats_command", "Find, show, export and delete conversations."),
    "doctor": ("tui.shell.doctor_command", "See what works here, and how to fix the rest."),
    "config": ("tui.settings.command", "Show every setting and where it was set."),
}
COMPLETE = "_SPECCHAT_COMPLETE"
"""Set by a shell for completion; `_SPECCHAT_COMPLETE=bash_source specchat` prints its script."""


class Commands(click.Group):
    """The commands by name and short help; the module of one is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in their order."""
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest one; import it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            module, _ = COMMANDS[name]
            command = getattr(importlib.import_module(module), name)
        return name, command, rest


@click.group(
    cls=Commands,
    commands=[click.Command(name, short_help=help_) for name, (_, help_) in COMMANDS.items()],
    invoke_without_command=True,
)
@click.version_option(package_name="specchat")
@click.option("--inline", is_flag=True, help="Chat in the terminal's own scrollback.")
@shared_options
@click.pass_context
def specchat(ctx: click.Context, /, inline: bool, **options: Any) -> None:
    """A private assistant in the terminal, made faster by speculative sampling you can watch.

    Without a command, open the chat.
    """
    if not os.path.isabs(os.path.expanduser("~")):
        raise UsageError("The home folder is unknown. Set HOME to a folder's path, from / on.")
    if ctx.invoked_subcommand is not None:
        typed, source = click.core.ParameterSource.COMMANDLINE, ctx.get_parameter_source
        given = {name: value for name, value in ctx.params.items() if source(name) is typed}
        ctx.default_map = {ctx.invoked_subcommand: given}  # they apply to the command, too
        return
    if inline:
        if not are_terminals(sys.stdin, sys.stdout):
            raise UsageError("--inline needs a terminal to type in. In a pipe, use: specchat ask")
        from tui.inline.program import run

        sys.exit(run(settings(options)))
    if not has_terminal():
        raise UsageError(
            "The chat needs a terminal as standard input, output and error, which can place its "
            "cursor, and TERM to name it. Else use: specchat --inline; in a pipe: specchat ask"
        )
    from assistant.settings.layers import load
    from tui.app.app import SpecchatApp

    layers = load(options)
    app = SpecchatApp(layers.settings(), layers=layers)
    app.run()
    sys.exit(app.return_code)


def main() -> None:
    """Run the command line and exit."""
    utf8 = "PYTHONUTF8"
    if sys.getfilesystemencoding() == "ascii" and os.environ.get(utf8) != "1":  # which loses text
        os.execve(sys.executable, sys.orig_argv, os.environ | {utf8: "1"})
    _ignore_stale_variables()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold the conversation
    for number in {*ending_signals()} - {signal.SIGINT}:
        signal.signal(number, leave)
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(specchat, {}, "specchat", COMPLETE, instruction))
    guard_streams()
    try:
        # Not click's own main: it would turn a closed pipe into exit code 1.
        with specchat.make_context("specchat", sys.argv[1:]) as ctx:
            specchat.invoke(ctx)
    except click.exceptions.Exit as request:
        sys.exit(request.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.ClickException as error:
        _fail(_with_help(error), EXIT_CODES[UsageError])
    except SpecchatError as error:
        codes = (code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
        _fail(str(error), next(codes, 1))
    except BrokenPipeError:  # the reader of the output is gone
        sys.exit(141)
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        _fail(bug_report(error), 1)


def _ignore_stale_variables() -> None:
    """Remove exported variables that would override what the terminal itself reports.

    COLUMNS and LINES may be those from before a resize; FORCE_COLOR would colour files, too.
    """
    variables = ["FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"]
    if any(map(_has_size, (0, 1, 2))):
        variables += ["COLUMNS", "LINES"]
    for name in variables:
        os.environ.pop(name, None)


def _has_size(stream: int) -> bool:
    try:
        return 0 not in os.get_terminal_size(stream)
    except OSError:  # it is no terminal, or closed
        return False


def _with_help(error: click.ClickException) -> str:
    """Return the message of click, followed by the help command unless it suggests something."""
    if isinstance(error, click.NoSuchOption) and (name := intended_option(error)):
        return f"No such option {error.option_name!r}. Did you mean {name!r}?"
    message, context = error.format_message(), getattr(error, "ctx", None)
    path = context.command_path if context else "specchat"
    return message if "Did you mean" in message else f"{message.rstrip('.')}. See: {path} --help"


def _fail(message: str, code: int) -> None:
    click.echo(f"specchat: {safe(message)}", err=True)
    sys.exit(code)
