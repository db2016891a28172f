"""`specchat ask`: one question, one answer on standard output."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from models.errors import ModelError, UsageError
from tui.shell.engine_console import EngineConsole
from tui.shell.options import FILE, FOLDER, LAST, NEW, constraint_options, settings, shared_options


def conversation(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the word for a conversation, or its number as text, if it is one."""
    number = int(value[:20]) if value and value.isascii() and value.isdecimal() else 0
    if value in (None, LAST, NEW) or 0 < number < 2**63:
        return value
    raise click.BadParameter(f"it must be {LAST}, {NEW} or a number: {value!r}")


@click.command()
@click.argument("prompt", required=False)
@click.option("--file", "-f", "files", multiple=True, type=FILE, help="Add a file to the question.")
@click.option("--each", "separately", is_flag=True, help="Ask about each of these files alone.")
@click.option(
    "--about",
    multiple=True,
    metavar="FOLDER",
    type=FOLDER,
    help="Answer from the files in a folder, and name them.",
)
@click.option(
    "--chat",
    callback=conversation,
    shell_complete=lambda ctx, param, typed: [w for w in (LAST, NEW) if w.startswith(typed)],
    metavar="last|new|NUMBER",
    help="Continue a conversation, and save this exchange in it.",
)
@click.option("--stop", "stop_strings", multiple=True, metavar="TEXT", help="End before this text.")
@constraint_options
@click.option(
    "--tools",
    metavar="NAME,...",
    help="Let the model call tools: those of a server in config.toml, files, or single ones.",
)
@click.option(
    "--folder", "folders", multiple=True, type=FOLDER, help="A folder that the file tools may read."
)
@click.option("--yes", is_flag=True, help="Run tools that only read without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with every token.")
@shared_options
def ask(
    prompt: str | None,
    files: tuple[Path, ...],
    separately: bool,
    about: tuple[Path, ...],
    chat: str | None,
    stop_strings: tuple[str, ...],
    tools: str | None,
    folders: tuple[Path, ...],
    yes: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Get one answer.

    PROMPT, standard input and files are joined into one question. The answer goes to standard
    output, everything else to standard error. Ctrl-C stops it and keeps the text so far.

    Of long files that do not fit into the context, or would together take longer to read than
    about_seconds, only passages are read, and a line on standard error says so. With
    SPECCHAT_ABOUT_SECONDS=600 all files that fit are read whole.

    With --each the question is asked about every --file alone, and the model is loaded only once.
    Above each answer is the name of its file; --json prints a line for each. A file without an
    answer does not stop the others.

    Without --chat nothing is kept, and the answer does not see any earlier conversation.

    With --about the passages of a folder that fit the question stand before it. The answer cites
    them, as in [1], and the files and lines of those that it cites follow on standard error. The
    folder is read first, which may take a while; later, only what has changed is read.

    With --schema, --regex or --grammar the answer has that form, whatever the model would say, and
    what the form leaves no choice about comes quickly. If the answer ends before the form is
    complete, by --max-tokens or --stop, that is an error: exit code 3.

    With --tools the model may ask for calls, and continues with what they return. Each call is
    printed on standard error, and on a terminal you are asked about it. With --yes, or without a
    terminal, those that only read are run, and others are refused. "files" are built-in tools,
    which read, list and search the folders of --folder or of config.toml.
    """
    chosen = settings(options)
    chosen = replace(chosen, about=about) if about else chosen
    if tools is None and (folders or yes):
        raise UsageError("--folder and --yes go with --tools.")
    if separately and (chat or tools is not None or not files):
        raise UsageError("--each goes with --file, and without --chat and --tools.")
    console, failures = EngineConsole(), list[str]()
    with console.open(starts_engine=True):
        from tui.shell import ask_inputs
        from tui.shell.ask_session import AskSession

        constraint = ask_inputs.constraint_of(options)
        groups = [(file,) for file in files] if separately else [files]
        text = ask_inputs.question_of(prompt)
        offered = ask_inputs.tools_of(tools, folders, chosen) if tools is not None else None
        request = replace(chosen.request(), stop_strings=stop_strings, constraint=constraint)
        with ask_inputs.continued_chat(chat, chosen) as (store, number):
            session = AskSession(console, chosen, request, as_json, yes, offered, store, number)
            for group in groups:
                name = ""
                try:
                    attached = ask_inputs.files_of(text, group)
                    name = attached[0].name if separately else ""
                    session.ask(text, attached, name)
                except (ModelError, UsageError) as error:
                    if not separately or (name and session.ready is None):
                        raise
                    failures.append(f"{name}: {error}" if name else str(error))
                if console.interrupted:
                    sys.exit(130)
    if failures:
        title = f"No answer for {len(failures)} of {len(files)} files:"
        raise ModelError("\n".join([title, *failures]))
