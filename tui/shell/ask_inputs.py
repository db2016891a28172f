"""The inputs of `specchat ask`: the question, its conversation, the constraint, the tools."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from assistant.events import Ready
from assistant.request import Constraint, ConstraintKind
from assistant.session.attachments import attachment_of, read, text_of
from assistant.settings.settings import Settings
from assistant.store.values import Attachment
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import BUILT_IN
from models.errors import StorageError, UsageError
from tui.labels import model_name
from tui.shell.options import LAST, NEW
from tui.shell.standard_output import STDIN, read_piped

if TYPE_CHECKING:
    from assistant.store.store import Store


@contextmanager
def continued_chat(
    chat: str | None, settings: Settings
) -> Iterator[tuple["Store | None", int | None]]:
    """Open the conversation that `chat` names: a number, the last one, or a new one.

    Yields its store, None without `chat`, and its number, None for a new one. A `StorageError` says
    that there is no such conversation, or that the store cannot be read or written.
    """
    if chat is None:
        yield None, None
        return
    from tui.shell.chats_command import opened_store

    with opened_store(creates=settings.save and chat == NEW) as store:
        number = None
        if chat != NEW:
            number = store.newest() if chat == LAST else int(chat)
            if number is None or not store.is_there(number):
                missing = "no conversation yet" if chat == LAST else f"no conversation {chat}"
                begins = f"specchat chats lists them; --chat {NEW} begins one."
                raise StorageError(f"There is {missing}. {begins}")
        yield store, number


def tools_of(names: str, folders: tuple[Path, ...], settings: Settings) -> ToolSet:
    """Return the named tools: servers or single tools, separated by commas.

    Built-in tools read `folders`, or else the folders in `config.toml`.
    """
    named = tuple(name.strip() for name in names.split(",") if name.strip())
    if not named:
        raise UsageError("--tools needs a name: of a server, of a tool, or files.")
    known, wanted = settings.tools, {name.split("__")[0] for name in named}
    folders = (folders or known.folders) if BUILT_IN in wanted else ()
    if BUILT_IN in wanted and not folders:
        raise UsageError("There is no folder that may be read; name one with --folder.")
    valid = [BUILT_IN, *(server.name for server in known.servers)]
    if unknown := sorted(wanted.difference(valid)):
        raise UsageError(f"No tools are called {unknown[0]!r}. There are: {', '.join(valid)}.")
    servers = tuple(server for server in known.servers if server.name in wanted)
    offered = replace(known, folders=folders, servers=servers)
    return ToolSet(offered, settings.offline, named)


def check_thinking(settings: Settings, ready: Ready) -> None:
    """Raise a UsageError for an option on reasoning that the model does not support."""
    name = model_name(ready.target.name)
    passing = {key for key, source in settings.sources.items() if source.is_for_this_run}
    if "thinking" in passing and settings.thinking == "on" and not ready.thinks:
        raise UsageError(f"{name} does not think; leave --thinking on out.")
    if "effort" in passing and settings.effort and not ready.takes_effort:
        raise UsageError(f"{name} has no effort setting; leave --effort out.")


def constraint_of(options: Mapping[str, Any]) -> Constraint | None:
    """Return the constraint of the options, if any; two of them are a UsageError."""
    kinds: tuple[ConstraintKind, ...] = get_args(ConstraintKind)
    chosen = [(kind, options[kind]) for kind in kinds if options[kind] is not None]
    if len(chosen) > 1:
        raise UsageError(f"An answer has one form: --{chosen[0][0]} or --{chosen[1][0]}, not both.")
    for kind, given in chosen:
        if isinstance(given, str):
            return Constraint(kind, given)
        if given == STDIN:
            return Constraint(kind, text_of(_read_pipe(), "Standard input"))
        return Constraint(kind, read(given, pipes=True).text)
    return None


def _read_pipe() -> bytes:
    """Return piped input: nothing at a terminal or a closed standard input."""
    return b"" if sys.stdin is None or sys.stdin.isatty() else read_piped()


def question_of(prompt: str | None) -> str:
    """Return the prompt with standard input, unless a form was already read from that."""
    parts = [prompt or "", text_of(_read_pipe(), "Standard input")]
    return "\n\n".join(part for part in parts if part.strip())


def files_of(question: str, paths: Sequence[Path]) -> list[Attachment]:
    """Return the files of a question; UsageError if there is none, or one cannot be read."""
    files = [attachment_of(str(path), pipes=True) for path in paths]
    if not question and not any(file.text for file in files):
        raise UsageError(
            'There is no question. Give one as PROMPT: specchat ask "Why is the sky blue?", or '
            'pipe one in: echo "Why is the sky blue?" | specchat ask'
        )
    return files
