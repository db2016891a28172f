"""`specchat edit`: files rewritten, shown as a diff, and written when allowed."""

import os
import sys
from typing import Any

import click

from models.errors import ModelError, StorageError, UsageError
from tui.safe import safe
from tui.shell.engine_console import EngineConsole
from tui.shell.options import can_ask, settings, shared_options
from tui.shell.standard_output import put

EXAMPLE = 'specchat edit FILE "add type hints"'


@click.command()
@click.argument("arguments", nargs=-1, type=click.Path(), metavar='FILE... "WHAT TO CHANGE"')
@click.option("--yes", is_flag=True, help="Write without asking, unless something was lost.")
@click.option("--force", "forces", is_flag=True, help="With --yes or --diff: accept any version.")
@click.option("--diff", "prints", is_flag=True, help="Print a patch, and write nothing.")
@click.option("--check", metavar="COMMAND", help="Run this command afterwards; if it fails, undo.")
@click.option("--undo", is_flag=True, help="Bring back the files as they were before.")
@shared_options
def edit(
    arguments: tuple[str, ...],
    yes: bool,
    forces: bool,
    prints: bool,
    check: str | None,
    undo: bool,
    **options: Any,
) -> None:
    """Rewrite files, and see what changes while it is written.

    Then y writes the file, n leaves it, e opens it in your editor first. A file is replaced in one
    step, and only if nobody has changed it meanwhile. The version before is kept: --undo brings it
    back, and a second --undo goes forward again.

    FILE:10-40 or FILE:name rewrites only these lines, or the function or class of that name; the
    model also reads what surrounds them. Use it for files that are too long to be rewritten whole.
    Several parts of a file are rewritten from the last to the first, and you decide about each.
    FILE - reads standard input, and the new version goes to standard output.

    A new version that was cut, stopped, or leaves lines out is called a fragment. You are warned if
    one no longer parses, uses names that nothing defines, or has lost functions, classes or imports
    that the request does not name. --yes writes neither (exit code 3), unless you add --force.
    """
    if undo:
        _undo(arguments, prints)
        return
    from assistant.edit.part import split

    *files, wish = arguments or ("",)
    if not files or not wish.strip():
        raise UsageError(f"Name a file and say what to change: {EXAMPLE}")
    path, part = split(wish)
    if os.path.isfile(path) and " " not in part:
        raise UsageError(f"Say what to change after the last file, {wish}: {EXAMPLE}")
    if "-" in files and len(files) > 1:
        raise UsageError("Standard input, -, is edited alone; name no other file.")
    if check and (prints or "-" in files):
        raise UsageError("--check goes with neither --diff nor standard input.")
    interactive = not (yes or prints or files == ["-"])
    if forces and interactive:
        raise UsageError("--force goes with --yes or --diff. Without these, y writes any version.")
    chosen = settings(options)
    console, passed = EngineConsole(), True
    with console.open(starts_engine=True):
        from assistant.edit.rewrite import rewrites
        from tui.shell.edit_session import EditSession

        session = EditSession(console, chosen, interactive, prints, forces)
        by_file = rewrites(files, wish, session.read)
        if interactive and not can_ask():
            raise UsageError("Nobody can be asked here: add --yes to write, or --diff for a patch.")
        reasons, errors = list[str](), list[UsageError | StorageError]()
        try:
            for parts in by_file:
                try:
                    reasons += session.run(parts)
                except (UsageError, StorageError) as error:  # the other files are rewritten
                    errors.append(error)
        except BaseException:  # Ctrl-C, too
            if check:
                session.name_unchecked(check)
            raise
        if check:
            console.hide_progress()
            passed = session.check(check)
    if reasons or errors:
        kind = type(errors[0]) if errors else ModelError
        raise kind(" ".join([*map(str, errors), *reasons]))
    if not passed:
        sys.exit(1)


def _undo(files: tuple[str, ...], prints: bool) -> None:
    from assistant.edit import kept_versions
    from assistant.edit.part import split

    if not files:
        raise UsageError("Name the file to bring back: specchat edit --undo FILE")
    errors = list[UsageError | StorageError]()
    for path in {os.path.realpath(path): path for path, _ in map(split, files)}.values():
        try:
            if prints:
                put(kept_versions.undo_patch(path))
            else:
                kept_versions.undo(path)
                click.echo(f"{safe(str(path))} is as it was before its last change.", err=True)
        except (UsageError, StorageError) as error:  # the other files are brought back
            errors.append(error)
    if errors:
        raise type(errors[0])(" ".join(map(str, errors)))
