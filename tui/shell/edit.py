"""Have files rewritten, show what changes, and write what the user allows."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from assistant.edit import kept_versions, text_file
from assistant.edit.comparison import Comparison, patch
from assistant.edit.part import find, split
from assistant.edit.rewrite import Rewrite
from assistant.edit.text_file import TextFile
from assistant.events import Counted, Decoded, Event, Finished, Prefilled, Ready
from assistant.request import Count
from assistant.settings.settings import DEFAULT, Settings
from models.errors import UsageError
from tui.figures import figures
from tui.safe import safe
from tui.settings.editor import lend
from tui.shell.diff_printing import DiffPrinting
from tui.shell.engine_console import EngineConsole
from tui.widgets.hunks import counts

STDIN = Path("-")


def rewrites(arguments: Sequence[str], wish: str, writes: bool) -> list[Rewrite]:
    """Return what is to be rewritten, all of it checked before anybody waits.

    Raises:
        UsageError: there is no such file or part, it is no text, or it is named twice.
        StorageError: it could not be written.
    """
    found = list[Rewrite]()
    for argument in arguments:
        path, part = split(argument)
        if path.resolve() in {each.file.path.resolve() for each in found}:
            raise UsageError(f"{path} is named twice; edit one part of it after the other.")
        if path == STDIN:
            file = text_file.parse(path, sys.stdin.buffer.read() if sys.stdin else b"")
        else:
            file = text_file.read(path)
            if writes:
                text_file.check_writable(path)
        found.append(Rewrite(file, find(file.lines, part, path), wish))
    return found


class EditSession:
    """Rewrite files one after another.

    Without `asks` what is whole is written at once; with `prints` a patch is printed instead.
    """

    def __init__(
        self, console: EngineConsole, settings: Settings, asks: bool, prints: bool
    ) -> None:
        self._console, self._settings = console, settings
        self._asks, self._prints = asks, prints
        self._ready: Ready | None = None
        self._written: list[tuple[TextFile, bytes]] = []  # what files were, and are now

    def run(self, rewrite: Rewrite) -> str:
        """Rewrite one file, and write it if it may be written.

        Returns why it is not written where nobody is asked: it is only a fragment. Usually empty.

        Raises:
            SpecchatError: there is no new version, or it cannot be written.
            KeyboardInterrupt: Ctrl-C.
        """
        file = rewrite.file
        finished, change = self._rewritten(rewrite)
        new = file.encoded("\n".join(rewrite.new(finished.text)))
        gap = rewrite.gap(finished.text, finished.stop)
        self._say(" · ".join([f"{counts(change)} lines", *figures(finished.stats)]), dim=True)
        if gap and not self._asks:
            return f"The new version of {file.path} is only a fragment: {gap}."
        if gap:
            self._say(f"This is only a fragment: {gap}.", fg="yellow")
        if file.path == STDIN or self._prints:
            sys.stdout.buffer.write(new if file.path == STDIN else patch(file.path, file.data, new))
        elif new == file.data:
            self._say(f"{file.path} stays as it is: nothing was changed.")
        elif self._asks:
            self._decide(file, new, bool(gap))
        else:
            self._write(file, new)
        return ""

    def check(self, command: str) -> bool:
        """Run the user's command; if it fails, offer to take back what was written."""
        if not self._written or subprocess.run(command, shell=True, check=False).returncode == 0:
            return True
        names = ", ".join(str(file.path) for file, _ in self._written)
        self._say(f"The check failed: {command}", fg="red")
        if not self._asks or click.confirm(f"Take back the change of {names}?", True, err=True):
            for file, new in self._written:
                text_file.replace(file.path, new, file.data)
            self._say(f"As before: {names}.")
        return False

    def _rewritten(self, rewrite: Rewrite) -> tuple[Finished, Comparison]:
        """Have the model rewrite a part; return how that ended, and what has changed."""
        console, asked, path = self._console, self._settings.request(), rewrite.file.path
        if self._ready is None:
            setup = replace(console.pair(self._settings), measure=asked.mode != "ars")
            self._ready = console.run(setup, keeps=False)
        if self._settings.sources.get("temperature", DEFAULT) == DEFAULT:
            asked = replace(asked, sampling=replace(asked.sampling, temperature=0.0))
        whole, part = self._count("\n".join(rewrite.lines)), self._count(rewrite.old)
        shown = rewrite.shown(whole, part, self._settings.n_ctx)
        if shown is None:
            raise UsageError(
                f"{path} has {part:,} tokens to rewrite, which must fit the context of "
                f"{self._settings.n_ctx:,} twice. Name a part of it, as in {path}:10-40 or "
                f"{path}:name, or give a larger --ctx."
            )
        if asked.max_tokens is None:
            asked = replace(asked, max_tokens=2 * part + 500)
        printing = DiffPrinting(console.console, rewrite.lines, len(rewrite.old.split("\n")))
        lines = [""]  # of the new part, the last one under way

        def hear(event: Event) -> None:
            match event:
                case Prefilled(role, done, total):
                    console.say(f"the {role} reads {path}: {done} of {total} tokens")
                case Decoded(tokens):
                    console.hush()
                    lines.extend((lines.pop() + "".join(each.text for each in tokens)).split("\n"))
                    printing.show(rewrite.so_far(lines[:-1]), len(lines) - 1)

        with printing:
            finished: Finished = console.run(rewrite.request(asked, shown), hear)
        if console.interrupted:
            self._say(f"Stopped: {path} is as it was.")
            raise KeyboardInterrupt
        return finished, printing.end(rewrite.new(finished.text))

    def _count(self, text: str) -> int:
        counted: Counted = self._console.run(Count("", text), keeps=False)
        return counted.tokens

    def _decide(self, file: TextFile, new: bytes, fragment: bool) -> None:
        """Ask whether a new version is to be written, and do it."""
        self._console.keeps = False
        while True:
            what = "Write this fragment to" if fragment else "Write"
            question = f"{what} {safe(str(file.path))}?  y yes · n no · e edit it first  "
            click.echo(question, nl=False, err=True)
            key = click.getchar().lower()
            click.echo(key if key in "yne" else "", err=True)
            if key == "y":
                return self._write(file, new)
            if key in ("n", "q", "\x1b"):
                return self._say(f"{file.path} is as it was.")
            if key == "e":
                before, new = new, self._edited(file, new)
                fragment = fragment and new == before  # the user has looked, and left it so

    def _edited(self, file: TextFile, new: bytes) -> bytes:
        """Return what the user makes of a new version in an editor, and show what changes then."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file.path.name
            path.write_bytes(new)
            if why := lend(path):
                self._say(why, fg="yellow")
            edited = path.read_bytes()
        DiffPrinting(self._console.console, file.lines, 0).end(
            text_file.parse(file.path, edited).lines
        )
        return edited

    def _write(self, file: TextFile, new: bytes) -> None:
        kept_versions.write(file, new, self._settings.save)
        self._written.append((file, new))
        undo = f" specchat edit --undo {file.path} takes it back." if self._settings.save else ""
        self._say(f"Written: {file.path}.{undo}")

    def _say(self, text: str, **style: Any) -> None:
        self._console.hush()
        click.secho(safe(text), err=True, **style)
