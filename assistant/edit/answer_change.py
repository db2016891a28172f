"""The change of an attached file that an answer proposes: to be shown, and then written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from assistant.edit import kept_versions, text_file
from assistant.edit.comparison import Hunk, compare
from assistant.edit.review import review
from assistant.edit.rewrite import proposed_by
from assistant.store.values import StoredMessage
from models.errors import UsageError


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """A file, its new content by an answer, and what the user should know before it is written."""

    name: str
    file: text_file.TextFile
    data: bytes  # the new content
    hunks: Sequence[Hunk]
    warnings: Sequence[str]

    def write(self, saves: bool) -> None:
        """Replace the file, or raise StorageError; with `saves`, the old content is saved."""
        kept_versions.write(self.file, self.data, self.file.data if saves else None)

    def undo(self) -> None:
        """Restore what this change replaced; StorageError if the file has changed since."""
        kept_versions.restore(self.file, self.data, saves=False)


def answer_change(
    answer: StoredMessage, path: Sequence[StoredMessage], locate: Callable[[str], Path]
) -> AnswerChange:
    """Return the change that an answer on a path proposes; `locate` finds a file by its name.

    UsageError if it proposes none, or the file has it already; StorageError if it is read-only.
    """
    new = proposed_by(answer, path)
    if new is None:
        raise UsageError("This answer holds no new version of an attached file.")
    file = text_file.read(locate(new.name))
    data = file.encoded(new.text)
    parsed = text_file.parse(file.path, data)
    hunks = compare(file.lines, parsed.lines)
    if not hunks:
        raise UsageError(f"{new.name} has this change already.")
    text_file.check_writable(file.path)
    warnings = [f"This is only a fragment: {new.gap}."] if new.gap else []
    if file.encoded(new.old) != file.data:
        warnings.append("The file has changed since it was attached.")
    before = takewhile(lambda other: other.id != answer.id, path)
    (*_, request) = (other.content for other in before if other.role == "user")
    warnings += review(file.path.suffix, file.text, parsed.text, request)
    return AnswerChange(new.name, file, data, hunks, warnings)
