"""The tools that the user has allowed to run without being asked again."""

import json
from pathlib import Path
from typing import Literal

import msgspec

from assistant.tools.values import OfferedTool
from models.errors import StorageError
from models.files.disk import write_private

Approval = Literal["conversation", "always"]
_FILE = msgspec.json.Decoder(dict[str, list[dict[str, str]]])


class Approvals:
    """Approvals of tools: for one conversation, in memory, or for always, in a file.

    An approval holds for a tool with exactly this fingerprint: if its description, schema or
    command changes, it is another tool. The file is read at each check, so an approval that
    another window revokes is revoked here.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._here: set[tuple[int, OfferedTool]] = set()

    def approved(self, tool: OfferedTool, conversation: int) -> Approval | None:
        """Return how a tool was approved; None if the user has to be asked."""
        if (conversation, tool) in self._here:
            return "conversation"
        known = self._read() or {}
        return "always" if known.get(tool.tool.name) == tool.fingerprint else None

    def allow(self, tool: OfferedTool, how: Approval, conversation: int) -> None:
        """Approve a tool.

        Raises:
            StorageError: the file cannot be written.
        """
        if how == "conversation":
            self._here.add((conversation, tool))
        else:
            self._write({**(self._read() or {}), tool.tool.name: tool.fingerprint})

    def revoke(self, tool: OfferedTool) -> None:
        """Revoke all approvals of a tool: in each conversation, and with any fingerprint.

        Raises:
            StorageError: the file cannot be written.
        """
        name, known = tool.tool.name, self._read() or {}
        self._here = {(where, each) for where, each in self._here if each.tool.name != name}
        if known.pop(name, None):
            self._write(known)

    def _read(self) -> dict[str, str] | None:
        """Return the fingerprints of approved tools by name; None: the file is damaged."""
        try:
            entries = _FILE.decode(self._path.read_bytes())["always"]
            return {each["tool"]: each["fingerprint"] for each in entries}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, LookupError, RecursionError):
            return None

    def _write(self, known: dict[str, str]) -> None:
        entries = [{"tool": name, "fingerprint": known[name]} for name in sorted(known)]
        try:
            if self._read() is None:
                self._path.replace(self._path.with_suffix(".damaged"))
            write_private(self._path, json.dumps({"always": entries}, indent=1))
        except OSError as error:
            why = f"cannot be written ({error.strerror}). Approvals stay as they were."
            raise StorageError(f"{self._path} {why}") from error
