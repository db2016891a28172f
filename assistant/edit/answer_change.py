"""The changes of files that an answer proposes: to be shown one by one, and then written."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from assistant.edit import kept_versions, text_file
from assistant.edit.comparison import Hunk, compare
from assistant.edit.proposals import ProposedFile, proposals
from assistant.edit.review import review
from assistant.store.values import StoredMessage
from models.errors import StorageError, UsageError
from models.files.places import expand_user

NONE = "This answer holds no new version of an attached file, and names no block of code as a file."


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """A file, its new content by an answer, and what the user should know before it is written."""

    name: str
    file: text_file.TextFile
    data: bytes  # the new content
    hunks: Sequence[Hunk]
    warnings: Sequence[str]

    def write(self, saves: bool) -> None:
        """Write the file, or raise StorageError; with `saves`, the old content is saved."""
        kept_versions.write(self.file, self.data, self.file.data if saves else None)

    def undo(self) -> None:
        """Restore what this change replaced; StorageError if the file has changed since."""
        kept_versions.restore(self.file, self.data, saves=False)


def answer_changes(
    answer: StoredMessage, path: Sequence[StoredMessage]
) -> tuple[list[AnswerChange], list[str]]:
    """Return the changes that an answer on a path proposes, and why others cannot be made."""
    before = takewhile(lambda other: other.id != answer.id, path)
    questions = [other.content for other in before if other.role == "user"]
    changes, reasons = list[AnswerChange](), list[str]()
    for proposal in proposals(answer, path):
        try:
            changes.append(_change(proposal, questions[-1] if questions else ""))
        except (UsageError, StorageError) as error:
            reasons.append(str(error))
    if not changes and not reasons:
        reasons.append(NONE)
    return changes, reasons


def _change(proposal: ProposedFile, request: str) -> AnswerChange:
    """Return a change; UsageError if the file has it already, StorageError if it is read-only."""
    if proposal.reason:
        raise UsageError(proposal.reason)
    name = proposal.name
    path = expand_user(name).absolute()
    file = text_file.read(path) if os.path.lexists(path) else text_file.new(path)
    if not file.missing:
        text_file.check_writable(path)
    data = file.encode(proposal.text)
    parsed = text_file.parse(file.path, data)
    hunks = compare(file.lines if file.data else (), parsed.lines)
    if not hunks:
        raise UsageError(f"{name} has this change already.")
    warnings = [f"This may be only a fragment: {proposal.gap}."] if proposal.gap else []
    if file.missing:
        warnings.append(f"A new file in {file.path.parent}.")
    elif proposal.old is None:
        warnings.append(f"{name} exists, and was not attached: the answer was written without it.")
    elif file.encode(proposal.old) != file.encode(file.text):
        warnings.append("The file has changed since it was attached.")
    warnings += review(file.path.suffix, file.text, parsed.text, request, fewest=1)
    return AnswerChange(name, file, data, hunks, warnings)
