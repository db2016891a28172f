"""`specchat chats`: list, search, export, import and delete conversations."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import click

from assistant.store.exports import json_lines, markdown, read_json_lines, write_new
from assistant.store.files import database_path, present
from assistant.store.store import Store
from assistant.store.values import FullConversation
from models.errors import StorageError, UsageError, raising
from tui.safe import one_line, safe
from tui.shell.options import FILE, NumberParameter
from tui.shell.standard_output import announce

MAX_IMPORT_BYTES = 1 << 30  # read at once: a file is imported completely or not at all
LONGEST_TITLE = 200  # characters
NUMBER = NumberParameter(1, 2**63 - 1)
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
limit_option = click.option(
    "--limit", type=NumberParameter(1, 10**9), default=50, show_default=True
)


@contextmanager
def opened_store(*, creates: bool = False) -> Iterator[Store]:
    """Open the store; without a file it is in memory, unless `creates`."""
    path = database_path()
    with closing(Store(path if creates or present(path) else None, announce)) as store:
        if store.warning:
            click.echo(safe(store.warning), err=True)
        yield store


@click.group("chats", invoke_without_command=True)
@click.pass_context
def chats(context: click.Context) -> None:
    """Find, show, export and delete conversations; alone, list them."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@chats.command("list")
@limit_option
@as_json_option
def list_(limit: int = 50, as_json: bool = False) -> None:
    """List the conversations, pinned ones first, then the newest."""
    _print_list("", limit, as_json, "There are no conversations.")


@chats.command()
@click.argument("words", nargs=-1, required=True)
@limit_option
@as_json_option
def search(words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """List the conversations that hold all WORDS; the last may be the start of a word."""
    _print_list(" ".join(words), limit, as_json, "Nothing was found.")


def _print_list(words: str, limit: int, as_json: bool, if_empty: str) -> None:
    with opened_store() as store:
        hits = store.summaries(words, limit + 1)
    summaries = hits[:limit]
    if as_json:
        click.echo(json.dumps([asdict(summary) for summary in summaries]))
    elif not summaries:
        click.echo(if_empty, err=True)
    else:
        for summary in summaries:
            when = datetime.fromtimestamp(summary.updated).strftime("%Y-%m-%d %H:%M")
            pin = "*" if summary.pinned else " "
            click.echo(f"{summary.id:>6} {pin} {when} {summary.messages:>5}  {_row(summary.title)}")
            if summary.snippet:
                click.echo(f"{'':34}{_row(summary.snippet)}")
    if len(hits) > limit:
        click.echo(f"There are more than {limit:,}; --limit shows them.", err=True)


def _row(title: str) -> str:
    title = one_line(title[: LONGEST_TITLE + 1]) or "(untitled)"
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


@chats.command()
@click.argument("number", type=NUMBER)
@as_json_option
def show(number: int, as_json: bool) -> None:
    """Print the conversation with this NUMBER."""
    with opened_store() as store:
        if as_json:
            path = [asdict(message) for message in store.path(number)]
            click.echo(json.dumps({"id": number, "messages": path}))
        else:
            click.echo(safe(markdown(store.whole(number))), nl=False)


@chats.command()
@click.argument("numbers", type=NUMBER, nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Export every conversation.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["md", "jsonl"]),
    help="Markdown to read, or JSON lines that can be imported. [default: by the file's name]",
)
@click.option("-o", "--output", type=FILE, help="A new file to write.")
def export(
    numbers: tuple[int, ...], everything: bool, format_name: str | None, output: Path | None
) -> None:
    """Write conversations as Markdown or JSON lines, to standard output or a file."""
    if bool(numbers) == everything:
        raise UsageError("Say which conversations: their numbers, or --all.")
    format_name = format_name or ("jsonl" if output and output.suffix == ".jsonl" else "md")
    with opened_store() as store:
        if everything:
            numbers = tuple(summary.id for summary in store.summaries(limit=-1))
        wholes = map(store.whole, numbers)
        lines = chain.from_iterable(map(json_lines, wholes))
        texts = map(markdown, wholes) if format_name == "md" else lines
        if output:
            try:
                write_new(output, texts)
            except FileExistsError as error:
                raise UsageError(f"{output} exists. Name a file that does not.") from error
        else:
            for text in texts:
                click.echo(safe(text), nl=False)


@chats.command("import")
@click.argument("files", metavar="FILE...", type=click.File("rb"), nargs=-1, required=True)
def import_(files: tuple[BinaryIO, ...]) -> None:
    """Add the conversations of FILEs that were exported as JSON lines; - is standard input.

    Conversations you already have are not added again. If a file is broken, nothing is added.
    """
    conversations = [whole for file in files for whole in _conversations(file)]
    with opened_store(creates=True) as store:
        added = store.import_conversations(conversations)
        for imported, whole in zip(added, conversations, strict=True):
            note = "" if imported.is_new else "  (there already)"
            click.echo(f"{imported.number:>6}  {_row(whole.title)}{note}")


def _conversations(file: BinaryIO) -> tuple[FullConversation, ...]:
    name = getattr(file, "name", "<stdin>")
    with raising(StorageError, f"{name} cannot be read"):
        data = file.read(MAX_IMPORT_BYTES + 1)
    try:
        if len(data) > MAX_IMPORT_BYTES:
            raise StorageError(f"more than {MAX_IMPORT_BYTES >> 30} GiB are not imported at once.")
        whole = tuple(read_json_lines(data.removeprefix(BOM_UTF8).splitlines()))
        if not whole:
            raise StorageError("there is no conversation in it; export one with --format jsonl.")
        return whole
    except StorageError as error:
        raise StorageError(f"{name}: {error}") from error


@chats.command()
@click.argument("numbers", type=NUMBER, nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(numbers: tuple[int, ...], yes: bool) -> None:
    """Delete conversations for good, from the file and from its backups."""
    with opened_store() as store:
        titles = {number: _row(store.whole(number).title) for number in numbers}
        question = "Delete {} ({}) for good?"
        agreed = [row[0] for row in titles.items() if yes or _confirmed(question.format(*row))]
        store.remove(*agreed)


def _confirmed(question: str) -> bool:
    try:
        return click.confirm(safe(question), err=True)
    except click.Abort as abort:
        click.echo(err=True)
        if isinstance(abort.__context__, EOFError):  # standard input is closed
            raise UsageError("Nobody answered. --yes deletes without asking.") from abort
        raise
