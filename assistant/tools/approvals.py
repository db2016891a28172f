"""The tools that the user has allowed to run without being asked again."""

import json
from pathlib import Path
from typing import Literal

import msgspec

from assistant.tools.values import OfferedTool
from models.errors import StorageError
from models.files.disk import write_private

Approval = Literal["conversation", "always"]
_Key = tuple[str, str, str]
_FILE = msgspec.json.Decoder(dict[str, list[dict[str, str]]])


class Approvals:
    """Approvals of tools: for one conversation, in memory, or for always, in a file.

    An approval holds for a tool with exactly this fingerprint: if its description, schema or
    command changes, it is another tool. The file is read at each check, so an approval that
    another window revokes is revoked here.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._here: set[tuple[int, _Key]] = set()

    def approved(self, tool: OfferedTool, conversation: int) -> Approval | None:
        """Return how a tool was approved; None if the user has to be asked."""
        if (conversation, _key(tool)) in self._here:
            return "conversation"
        return "always" if _key(tool) in (self._read() or ()) else None

    def allow(self, tool: OfferedTool, how: Approval, conversation: int) -> None:
        """Approve a tool.

        Raises:
            StorageError: the file cannot be written.
        """
        if how == "conversation":
            self._here.add((conversation, _key(tool)))
        else:
            others = {key for key in self._read() or () if key[:2] != _key(tool)[:2]}
            self._write(others | {_key(tool)})

    def revoke(self, tool: OfferedTool) -> None:
        """Revoke all approvals of a tool: in each conversation, and with any fingerprint.

        Raises:
            StorageError: the file cannot be written.
        """
        named = _key(tool)[:2]
        self._here = {(where, key) for where, key in self._here if key[:2] != named}
        approved = self._read() or set()
        kept = {key for key in approved if key[:2] != named}
        if kept != approved:
            self._write(kept)

    def _read(self) -> set[_Key] | None:
        """Return what is always approved; None: the file is damaged, and approves nothing."""
        try:
            entries = _FILE.decode(self._path.read_bytes())["always"]
            return {(each["server"], each["tool"], each["fingerprint"]) for each in entries}
        except FileNotFoundError:
            return set()
        except (OSError, ValueError, LookupError, RecursionError):
            return None

    def _write(self, keys: set[_Key]) -> None:
        entries = [{"server": s, "tool": t, "fingerprint": f} for s, t, f in sorted(keys)]
        try:
            if self._read() is None:
                self._path.replace(self._path.with_suffix(".damaged"))
            write_private(self._path, json.dumps({"always": entries}, indent=1))
        except OSError as error:
            why = f"cannot be written ({error.strerror}). Approvals stay as they were."
            raise StorageError(f"{self._path} {why}") from error


def _key(tool: OfferedTool) -> _Key:
    return tool.server, tool.tool.name, tool.fingerprint
