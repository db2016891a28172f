"""A session of `specchat edit`: rewrite files, show the changes, write the confirmed ones."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import click
from rich.text import Text

from assistant.edit import kept_versions, text_file
from assistant.edit.comparison import Hunk, patch
from assistant.edit.part import find, split
from assistant.edit.restoring import Restored, joined, restored
from assistant.edit.review import review
from assistant.edit.rewrite import Rewrite
from assistant.edit.text_file import TextFile
from assistant.events import Decoded, Event, Finished, Prefilled, Ready
from assistant.request import Request
from assistant.session.attachments import DOCUMENTS
from assistant.settings.settings import DEFAULT, Settings
from models.errors import SpecchatError, StorageError, UsageError
from models.memory import CONTEXT
from tui.labels import figures
from tui.safe import safe
from tui.settings.editor import edit_file
from tui.shell.diff_printing import DiffPrinting, counts
from tui.shell.engine_console import EngineConsole
from tui.shell.standard_output import STDIN, put, read_piped


def rewrites(arguments: Sequence[str], wish: str, writes: bool) -> list[list[Rewrite]]:
    """Return the rewrites of each file, the last part first, after checking all of them.

    Raises:
        UsageError: a file or part does not exist, is no text, or two parts overlap.
        StorageError: a file is not writable.
    """
    by_file = dict[str, list[Rewrite]]()
    for argument in arguments:
        path, part = split(argument)
        of_file = by_file.setdefault(os.path.realpath(path), [])
        file = of_file[0].file if of_file else _opened(path, writes)
        of_file.append(Rewrite(file, find(file.lines, part, path), wish))
    for of_file in by_file.values():
        of_file.sort(key=lambda rewrite: rewrite.part, reverse=True)  # so that no line above moves
        for below, above in pairwise(of_file):
            if above.part.end > below.part.start:
                name, line = below.file.path, below.part.start + 1
                raise UsageError(f"Two parts of {name} overlap at line {line}; name them as one.")
    return [*by_file.values()]


def _opened(path: Path, writes: bool) -> TextFile:
    if path == STDIN:
        return text_file.parse(path, read_piped() if sys.stdin else b"")
    if path.suffix.lower() in DOCUMENTS:
        raise UsageError(f"{path} is a document; only files with text can be edited.")
    file = text_file.read(path)
    if writes:
        text_file.check_writable(path)
    return file


class EditSession:
    """Rewrite files one after another.

    If `interactive`, the user confirms each part. Otherwise complete parts are written, with
    `forces` all parts; with `prints` a patch is printed instead.
    """

    def __init__(
        self,
        console: EngineConsole,
        settings: Settings,
        interactive: bool,
        prints: bool,
        forces: bool,
    ) -> None:
        self._console, self._settings = console, settings
        self._interactive, self._prints, self._forces = interactive, prints, forces
        self._ready: Ready | None = None
        self._now: dict[TextFile, bytes] = {}  # the present content of the files

    def run(self, parts: Sequence[Rewrite]) -> list[str]:
        """Rewrite parts of one file, the last one first, and write them.

        Returns the reasons why parts were not written without a user: fragments and losses.

        Raises:
            SpecchatError: there is no new version, or it cannot be written.
            KeyboardInterrupt: Ctrl-C.
        """
        file = parts[0].file
        self._now[file] = file.data
        reasons = [*filter(None, map(self._rewrite, parts))]
        if self._prints:
            put(patch(file.path, file.data, self._now[file]))
        elif file.path == STDIN and not reasons:
            put(self._now[file])
        return reasons

    @property
    def _written(self) -> dict[TextFile, bytes]:
        return {file: now for file, now in self._now.items() if now != file.data}

    def name_unchecked(self, command: str) -> None:
        """Name the files that were written before something kept a command from being run."""
        if names := ", ".join(str(file.path) for file in self._written):
            self._print(f"The check was not run on {names}: {command}", "yellow")

    def check(self, command: str) -> bool:
        """Run the user's command; if it fails, offer to undo the changes."""
        written = self._written
        self._console.stoppable = False
        try:
            if not written or subprocess.run(command, shell=True, check=False).returncode == 0:
                return True
        except KeyboardInterrupt:  # counts as a failure
            click.echo(err=True)
        names = safe(", ".join(str(file.path) for file in written))
        self._print(f"The check failed: {command}", "red")
        if not self._interactive or click.confirm(f"Undo the change to {names}?", True, err=True):
            for file, now in written.items():
                try:
                    self._print(kept_versions.restore(file, now, self._settings.save))
                except (SpecchatError, FileNotFoundError) as error:  # even the folder may be gone
                    saved = _put_aside(file, file.data, "version before the edit")
                    self._print(f"{str(error).rstrip('.')}. {saved}", "red")
        return False

    def _rewrite(self, original: Rewrite) -> str:
        """Rewrite a part of the present file; return why it was not written, or nothing."""
        before, path = original.file, original.file.path
        file = text_file.parse(path, self._now[before])
        if file.lines[: original.part.end] != before.lines[: original.part.end]:
            raise UsageError(f"{path} was changed above line {original.part.end} in the editor.")
        rewrite = replace(original, file=file)
        finished, hunks = self._rewritten(rewrite)
        text = "\n".join(rewrite.new(finished.text))
        try:
            new = file.encoded(text)
        except UsageError as error:  # its encoding has no such character
            raise UsageError(f"{error} {_put_aside(file, text.encode(), 'new version')}") from None
        gap = rewrite.gap(finished.text, finished.stop)
        self._print(f"{counts(hunks)} lines", "dim")
        warnings = self._show_warnings(rewrite, new, gap)
        if self._interactive and new != file.data:
            new = self._confirmed(rewrite, new, bool(gap))
        self._print(" · ".join(figures(finished.stats)), "dim")
        if warnings and not (self._interactive or self._forces):
            return f"{path} stays as it is; --force writes it anyway. {' '.join(warnings)}"
        if path != STDIN and not self._prints:
            self._write(before, file, new)
        self._now[before] = new
        return ""

    def _rewritten(self, rewrite: Rewrite) -> tuple[Finished, list[Hunk]]:
        """Have the model rewrite a part; return the end of its answer, and the changes."""
        console, request, path = self._console, self._settings.request(), rewrite.file.path
        if self._ready is None:
            setup = replace(console.pair(self._settings), measure=request.mode != "ars")
            self._ready = console.run(setup, stoppable=False)
        if self._settings.sources.get("temperature", DEFAULT) == DEFAULT:
            request = replace(request, sampling=replace(request.sampling, temperature=0.0))
        whole, part = map(self._console.count, (rewrite.file.text, rewrite.old))
        n_ctx = min(self._ready.target.n_ctx, max(self._settings.n_ctx or 0, CONTEXT))
        shown = rewrite.shown(whole, part, n_ctx)
        if shown is None:
            raise UsageError(
                f"{path} has {part:,} tokens to rewrite, which must fit the context of "
                f"{n_ctx:,} twice. Name a part of it, as in {path}:10-40 or "
                f"{path}:name, or give a larger --ctx."
            )
        if request.max_tokens is None:
            request = replace(request, max_tokens=2 * part + 500)
        printing = DiffPrinting(console.console, rewrite.file.lines, len(rewrite.old.split("\n")))
        with closing(printing):
            finished = self._answered(rewrite, rewrite.request(request, shown), printing)
        if console.interrupted:
            self._print(f"Stopped: {path} stays as it is.")
            raise KeyboardInterrupt
        return finished, printing.end(rewrite.new(finished.text))

    def _answered(
        self,
        rewrite: Rewrite,
        request: Request,
        printing: DiffPrinting,
        prefix: Sequence[str] = (),
        tried: AbstractSet[str] = frozenset(),
    ) -> Finished:
        """Have the model write a part after `prefix`; lines it leaves out unasked are put back.

        `tried` are the names for which that was done before.
        """
        console, lines, back = self._console, [*prefix, ""], list[Restored]()

        def handle(event: Event) -> None:
            match event:
                case Prefilled():
                    console.show_waiting(event, str(rewrite.file.path))
                case Decoded(tokens) if not back:
                    console.hide_progress()
                    first = len(lines)  # the first line that this event may complete
                    text = lines.pop() + "".join(token.text for token in tokens)
                    lines.extend(text.split("\n"))
                    printing.show(rewrite.so_far(lines[:-1]), len(lines) - 1)
                    ends = range(first, len(lines)) if rewrite.is_whole else ()
                    losses = (restored(rewrite, lines[:end], tried) for end in ends)
                    back.extend(islice(filter(None, losses), 1))
                    if back:
                        console.stop()

        *earlier, start = request.messages
        head = "".join(f"{line}\n" for line in prefix)
        start = replace(start, content=f"{start.content}{head}")
        finished: Finished = console.run(replace(request, messages=(*earlier, start)), handle)
        finished = joined(finished, head)
        if not back and rewrite.is_whole and not rewrite.gap(finished.text, finished.stop):
            written = rewrite.written(finished.text)
            back += filter(None, [restored(rewrite, written, tried, is_whole=True)])
        if not back or console.interrupted:
            return finished
        (loss,) = back
        self._print(f"Kept: lines {loss.first} to {loss.last}, which it left out unasked.", "dim")
        rest = self._answered(rewrite, request, printing, loss.lines, tried | loss.lost)
        return joined(rest, "", finished)

    def _show_warnings(self, rewrite: Rewrite, new: bytes, gap: str = "") -> list[str]:
        """Show the warnings on what a new version lacks, lost or broke; return them."""
        file, end = rewrite.file, rewrite.part.end
        text, suffix = text_file.parse(file.path, new).text, file.path.suffix
        fragment = [f"This is only a fragment: {gap}."] if gap else []
        warnings = [*fragment, *review(suffix, file.text, text, rewrite.wish, end)]
        for warning in warnings:
            self._print(warning, "yellow", by_words=True)
        return warnings

    def _confirmed(self, rewrite: Rewrite, new: bytes, fragment: bool) -> bytes:
        """Ask whether to write a new version; return the content to write."""
        self._console.stoppable, file = False, rewrite.file
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
                fragment = fragment and new == before  # the user saw it and left it unchanged
                if new != before:
                    self._show_warnings(rewrite, new)

    def _edited(self, file: TextFile, new: bytes) -> bytes:
        """Open a new version in the user's editor; return the result, and show its change."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / file.path.name
                path.write_bytes(new)
                why = edit_file(path)
                edited = text_file.read(path)
        except (OSError, UsageError) as error:  # a full disk, or it is no text any more
            why = str(error)
        if why or edited.data == new:
            self._print(why or "You have changed nothing.", "yellow")
            return new
        DiffPrinting(self._console.console, file.lines, 0).end(edited.lines)
        return edited.data

    def _write(self, before: TextFile, file: TextFile, new: bytes) -> None:
        if new == file.data:
            self._print(f"{file.path} stays as it is.")
            return
        try:
            kept_versions.write(file, new, before.data if self._settings.save else None)
        except StorageError as error:
            raise StorageError(f"{error} {_put_aside(file, new, 'new version')}") from None
        undo = f" {kept_versions.undo_command(file.path)} undoes it." if self._settings.save else ""
        self._print(f"Written: {file.path}.{undo}")

    def _print(self, text: str, style: str = "", by_words: bool = False) -> None:
        """Print a line; a terminal breaks it where it ends, so that paths are copied whole."""
        self._console.hide_progress()
        soft_wrap = not (by_words and self._console.console.is_terminal)
        self._console.console.print(Text(safe(text), style), soft_wrap=soft_wrap)


def _put_aside(file: TextFile, data: bytes, what: str) -> str:
    """Save a version that cannot be written in place to a temporary file; return where."""
    try:
        aside = Path(tempfile.mkdtemp()) / file.path.name
        aside.write_bytes(data)
    except OSError as error:
        return f"The {what} cannot be kept elsewhere either ({error.strerror})."
    return f"The {what} is in {aside}."
