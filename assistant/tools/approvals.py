"""The tools that the user has approved to run without confirmation."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

from assistant.tools.values import OfferedTool
from models.errors import StorageError
from models.files.disk import JsonFile

Approval = Literal["conversation", "always"]


class _Approved(Struct, forbid_unknown_fields=True, omit_defaults=True):
    tool: str
    fingerprint: str
    server: str = ""  # which earlier versions wrote


_Stored = dict[Literal["always"], list[_Approved]]


class Approvals:
    """Approvals of tools: for one conversation, in memory, or for always, in a file.

    An approval holds for a tool with exactly this fingerprint: if its description, schema or
    command changes, it is another tool. The file is read at each check and changed under a lock, so
    an approval that is revoked in one window is revoked in all.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, JsonFile(path, _Stored)
        self._here: set[tuple[int, OfferedTool]] = set()

    def approved(self, tool: OfferedTool, conversation: int) -> Approval | None:
        """Return how a tool was approved; None if it was not."""
        if (conversation, tool) in self._here:
            return "conversation"
        key = (tool.tool.name, tool.fingerprint)
        known = {(approved.tool, approved.fingerprint) for approved in _always(self._file.read())}
        return "always" if key in known else None

    def allow(self, tool: OfferedTool, how: Approval, conversation: int) -> None:
        """Approve a tool.

        Raises:
            StorageError: the file cannot be written.
        """
        if how == "conversation":
            self._here.add((conversation, tool))
        else:
            self._update(tool.tool.name, [_Approved(tool.tool.name, tool.fingerprint)])

    def revoke(self, tool: OfferedTool) -> None:
        """Revoke all approvals of a tool: in each conversation, and with any fingerprint.

        Raises:
            StorageError: the file cannot be written.
        """
        name = tool.tool.name
        self._here = {(where, known) for where, known in self._here if known.tool.name != name}
        self._update(name, [])

    def _update(self, name: str, approved: list[_Approved]) -> None:
        """Replace what is stored of a tool; a damaged file is set aside."""

        def changed(stored: _Stored | None) -> _Stored | None:
            before = _always(stored)
            after = [*(other for other in before if other.tool != name), *approved]
            return {"always": after} if after != before else None

        try:
            self._file.set_aside()
            self._file.update(changed)
        except OSError as error:
            why = f"cannot be written ({error.strerror}). Approvals stay as they were."
            raise StorageError(f"{self._path} {why}") from error


def _always(stored: _Stored | None) -> list[_Approved]:
    return (stored or {}).get("always", [])
