"""A session of `specchat edit`: rewrite files, show the changes, write the confirmed ones."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click
from rich.text import Text

from assistant.edit import kept_versions, text_file
from assistant.edit.comparison import Hunk, patch
from assistant.edit.restoring import PartialRewrite
from assistant.edit.review import review
from assistant.edit.rewrite import Rewrite
from assistant.edit.text_file import TextFile
from assistant.events import Decoded, Event, Finished, Prefilled, Ready
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

    def read(self, path: Path) -> TextFile:
        """Read a file that is to be rewritten; UsageError or StorageError if it cannot be."""
        if path == STDIN:
            return text_file.parse(path, read_piped() if sys.stdin else b"")
        if path.suffix.lower() in DOCUMENTS:
            raise UsageError(f"{path} is a document; only files with text can be edited.")
        file = text_file.read(path)
        if not self._prints:
            text_file.check_writable(path)
        return file

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
            new = file.encode(text)
        except UsageError as error:  # its encoding has no such character
            raise UsageError(f"{error} {_put_aside(file, text.encode(), 'new version')}") from None
        gap = rewrite.gap(finished.text, finished.stop)
        self._print(f"{counts(hunks)} lines", "dim")
        warnings = self._show_warnings(rewrite, new, gap)
        if self._interactive and new != file.data:
            new = self._confirm(rewrite, new, bool(gap))
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
        request = rewrite.request(request, rewrite.visible_part(whole, part, n_ctx))
        if request.max_tokens is None:
            request = replace(request, max_tokens=2 * part + 500)
        with closing(DiffPrinting(console.console, rewrite.file.lines, rewrite.part)) as printing:
            finished = self._answered(PartialRewrite(rewrite, request), path, printing)
        if console.interrupted:
            self._print(f"Stopped: this change to {path} is not written.")
            raise KeyboardInterrupt
        return finished, printing.end(rewrite.new(finished.text))

    def _answered(self, answer: PartialRewrite, path: Path, printing: DiffPrinting) -> Finished:
        """Have the model write a part; name the lines that are put back meanwhile."""
        console = self._console

        def handle(event: Event) -> None:
            match event:
                case Prefilled():
                    console.show_waiting(event, str(path))
                case Decoded(tokens):
                    console.hide_progress()
                    console.stop() if answer.add(tokens) else printing.show(answer.lines)

        while True:
            loss = answer.end(console.run(answer.request, handle))
            if loss is None or console.interrupted:
                return answer.finished
            text = f"Kept: lines {loss.first} to {loss.last}, which it left out unasked."
            self._print(text, "dim")

    def _show_warnings(self, rewrite: Rewrite, new: bytes, gap: str = "") -> list[str]:
        """Show the warnings on what a new version lacks, lost or broke; return them."""
        file, end = rewrite.file, rewrite.part.end
        text, suffix = text_file.parse(file.path, new).text, file.path.suffix
        fragment = [f"This is only a fragment: {gap}."] if gap else []
        warnings = [*fragment, *review(suffix, file.text, text, rewrite.wish, end)]
        for warning in warnings:
            self._print(warning, "yellow", by_words=True)
        return warnings

    def _confirm(self, rewrite: Rewrite, new: bytes, fragment: bool) -> bytes:
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
                before, new = new, self._edit_by_hand(rewrite, new)
                fragment = fragment and new == before  # the user saw it and left it unchanged
                if new != before:
                    self._show_warnings(rewrite, new)

    def _edit_by_hand(self, rewrite: Rewrite, new: bytes) -> bytes:
        """Open a new version in the user's editor; return the result, and show its change."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / rewrite.file.path.name
                path.write_bytes(new)
                why = edit_file(path)
                edited = text_file.read(path)
        except (OSError, UsageError) as error:  # a full disk, or it is no text any more
            why = str(error)
        if why or edited.data == new:
            self._print(why or "You have changed nothing.", "yellow")
            return new
        DiffPrinting(self._console.console, rewrite.file.lines, rewrite.part).end(edited.lines)
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
