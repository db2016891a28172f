"""Have files rewritten, show what changes, and write what the user allows."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import click
from rich.text import Text

from assistant.edit import kept_versions, text_file
from assistant.edit.comparison import Comparison, patch
from assistant.edit.part import find, split
from assistant.edit.review import review
from assistant.edit.rewrite import Rewrite
from assistant.edit.text_file import TextFile
from assistant.events import Decoded, Event, Finished, Prefilled, Ready, TokenCount
from assistant.request import CountTokens
from assistant.settings.settings import DEFAULT, Settings
from models.errors import SpecchatError, StorageError, UsageError
from tui.figures import figures
from tui.safe import safe
from tui.settings.editor import lend
from tui.shell.diff_printing import DiffPrinting
from tui.shell.engine_console import EngineConsole
from tui.shell.standard_output import put, read_piped
from tui.widgets.hunks import counts

STDIN = Path("-")


def rewrites(arguments: Sequence[str], wish: str, writes: bool) -> list[list[Rewrite]]:
    """Return what is to be rewritten in each file, from below, all checked before anybody waits.

    Raises:
        UsageError: there is no such file or part, it is no text, or two parts overlap.
        StorageError: it could not be written.
    """
    found = dict[str, list[Rewrite]]()
    for argument in arguments:
        path, part = split(argument)
        of_file = found.setdefault(os.path.realpath(path), [])
        file = of_file[0].file if of_file else _opened(path, writes)
        of_file.append(Rewrite(file, find(file.lines, part, path), wish))
    for of_file in found.values():
        of_file.sort(key=lambda each: each.part, reverse=True)  # so that no line above moves
        for below, above in pairwise(of_file):
            if above.part.end > below.part.start:
                name, begin = below.file.path, below.part.start + 1
                raise UsageError(f"Two parts of {name} overlap at line {begin}; name them as one.")
    return [*found.values()]


def _opened(path: Path, writes: bool) -> TextFile:
    if path == STDIN:
        return text_file.parse(path, read_piped() if sys.stdin else b"")
    file = text_file.read(path)
    if writes:
        text_file.check_writable(path)
    return file


class EditSession:
    """Rewrite files one after another.

    Without `asks` what is whole is written at once, and with `forces` all; with `prints` a patch
    is printed instead.
    """

    def __init__(
        self, console: EngineConsole, settings: Settings, asks: bool, prints: bool, forces: bool
    ) -> None:
        self._console, self._settings = console, settings
        self._asks, self._prints, self._forces = asks, prints, forces
        self._ready: Ready | None = None
        self._now: dict[TextFile, bytes] = {}  # what files have become

    def run(self, parts: Sequence[Rewrite]) -> list[str]:
        """Rewrite parts of one file, the last one first, and write each that may be written.

        Returns why some are not written where nobody is asked: fragments, and what lost something.

        Raises:
            SpecchatError: there is no new version, or it cannot be written.
            KeyboardInterrupt: Ctrl-C.
        """
        file = parts[0].file
        self._now[file] = file.data
        gaps = [*filter(None, map(self._part, parts))]
        if self._prints:
            put(patch(file.path, file.data, self._now[file]))
        elif file.path == STDIN and not gaps:
            put(self._now[file])
        return gaps

    def check(self, command: str) -> bool:
        """Run the user's command; if it fails, offer to take back what was written."""
        written = {file: now for file, now in self._now.items() if now != file.data}
        self._console.keeps = False
        try:
            if not written or subprocess.run(command, shell=True, check=False).returncode == 0:
                return True
        except KeyboardInterrupt:  # as if it had failed
            click.echo(err=True)
        names = safe(", ".join(str(file.path) for file in written))
        self._say(f"The check failed: {command}", "red")
        if not self._asks or click.confirm(f"Undo the change to {names}?", True, err=True):
            for file, now in written.items():
                try:
                    self._say(kept_versions.bring_back(file, now, self._settings.save))
                except SpecchatError as error:
                    why = f"{error} {_put_aside(file, file.data, 'version before the edit')}"
                    self._say(why, "red")
        return False

    def _part(self, asked: Rewrite) -> str:
        """Rewrite a part of what its file is now; return why that is not written, or nothing."""
        before, path = asked.file, asked.file.path
        file = text_file.parse(path, self._now[before])
        if file.lines[: asked.part.end] != before.lines[: asked.part.end]:
            raise UsageError(f"{path} was changed above line {asked.part.end} in the editor.")
        rewrite = replace(asked, file=file)
        finished, change = self._rewritten(rewrite)
        new = file.encoded("\n".join(rewrite.new(finished.text)))
        gap = rewrite.gap(finished.text, finished.stop)
        self._say(f"{counts(change)} lines", "dim")
        problems = self._problems(file, new, asked.wish, gap)
        if self._asks and new != file.data:
            new = self._decided(file, new, asked.wish, bool(gap))
        self._say(" · ".join(figures(finished.stats)), "dim")
        if problems and not (self._asks or self._forces):
            return f"{path} stays as it is; --force writes it anyway. {' '.join(problems)}"
        if path != STDIN and not self._prints:
            self._write(before, file, new)
        self._now[before] = new
        return ""

    def _rewritten(self, rewrite: Rewrite) -> tuple[Finished, Comparison]:
        """Have the model rewrite a part; return how that ended, and what has changed."""
        console, asked, path = self._console, self._settings.request(), rewrite.file.path
        if self._ready is None:
            setup = replace(console.pair(self._settings), measure=asked.mode != "ars")
            self._ready = console.run(setup, keeps=False)
        if self._settings.sources.get("temperature", DEFAULT) == DEFAULT:
            asked = replace(asked, sampling=replace(asked.sampling, temperature=0.0))
        whole, part = self._count(rewrite.file.text), self._count(rewrite.old)
        shown = rewrite.shown(whole, part, self._settings.n_ctx)
        if shown is None:
            raise UsageError(
                f"{path} has {part:,} tokens to rewrite, which must fit the context of "
                f"{self._settings.n_ctx:,} twice. Name a part of it, as in {path}:10-40 or "
                f"{path}:name, or give a larger --ctx."
            )
        if asked.max_tokens is None:
            asked = replace(asked, max_tokens=2 * part + 500)
        printing = DiffPrinting(console.console, rewrite.file.lines, len(rewrite.old.split("\n")))
        lines = [""]  # of the new part, the last one under way

        def handle(event: Event) -> None:
            match event:
                case Prefilled():
                    console.reading(str(path), event)
                case Decoded(tokens):
                    console.hush()
                    lines.extend((lines.pop() + "".join(each.text for each in tokens)).split("\n"))
                    printing.show(rewrite.so_far(lines[:-1]), len(lines) - 1)

        with closing(printing):
            finished: Finished = console.run(rewrite.request(asked, shown), handle)
        if console.interrupted:
            self._say(f"Stopped: {path} stays as it is.")
            raise KeyboardInterrupt
        return finished, printing.end(rewrite.new(finished.text))

    def _count(self, text: str) -> int:
        counted: TokenCount = self._console.run(CountTokens("", text), keeps=False)
        return counted.tokens

    def _problems(self, file: TextFile, new: bytes, wish: str, gap: str = "") -> list[str]:
        """Show what a new version lacks, has lost or has broken, and return it."""
        text, suffix = text_file.parse(file.path, new).text, file.path.suffix
        fragment = [f"This is only a fragment: {gap}."] if gap else []
        problems = [*fragment, *review(suffix, file.text, text, wish)]
        for problem in problems:
            self._say(problem, "yellow")
        return problems

    def _decided(self, file: TextFile, new: bytes, wish: str, fragment: bool) -> bytes:
        """Ask whether a new version is to be written; return what the file is to be."""
        self._console.keeps = False
        while True:
            what = "Write this fragment to" if fragment else "Write"
            question = f"{what} {safe(str(file.path))}?  y yes · n no · e edit it first  "
            click.echo(question, nl=False, err=True)
            key = ""
            try:
                key = click.getchar().lower()
            except EOFError:  # Ctrl-D
                key = "n"
            finally:
                click.echo(key if key in "yne" else "", err=True)
            if key in ("y", "n", "q", "\x1b"):
                return new if key == "y" else file.data
            if key == "e":
                before, new = new, self._edited(file, new)
                fragment = fragment and new == before  # the user has looked, and left it so
                if new != before:
                    self._problems(file, new, wish)

    def _edited(self, file: TextFile, new: bytes) -> bytes:
        """Return what the user makes of a new version in an editor, and show what changes then."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / file.path.name
                path.write_bytes(new)
                why = lend(path)
                edited = text_file.read(path)
        except (OSError, UsageError) as error:  # the disk is full, or it is no text any more
            why = str(error)
        if why or edited.data == new:
            self._say(why or "You have changed nothing.", "yellow")
            return new
        DiffPrinting(self._console.console, file.lines, 0).end(edited.lines)
        return edited.data

    def _write(self, before: TextFile, file: TextFile, new: bytes) -> None:
        if new == file.data:
            self._say(f"{file.path} stays as it is.")
            return
        try:
            kept_versions.write(file, new, before.data if self._settings.save else None)
        except StorageError as error:
            raise StorageError(f"{error} {_put_aside(file, new, 'new version')}") from None
        undo = f" {kept_versions.undoing(file.path)} undoes it." if self._settings.save else ""
        self._say(f"Written: {file.path}.{undo}")

    def _say(self, text: str, style: str = "") -> None:
        self._console.hush()
        self._console.console.print(Text(safe(text), style), soft_wrap=True)


def _put_aside(file: TextFile, data: bytes, what: str) -> str:
    """Keep a version that cannot be written where it belongs; say where."""
    try:
        aside = Path(tempfile.mkdtemp()) / file.path.name
        aside.write_bytes(data)
    except OSError as error:
        return f"The {what} cannot be kept elsewhere either ({error.strerror})."
    return f"The {what} is in {aside}."
