"""Which tools may run without being asked about again."""

import json
from pathlib import Path
from typing import Literal

from assistant.tools.values import OfferedTool
from models.errors import StorageError
from models.files.disk import write_private

Approval = Literal["conversation", "always"]
_Key = tuple[str, str, str]


class Approvals:
    """What the user allowed: for one conversation in memory, or always, in a file.

    An approval is for a server's tool with exactly its fingerprint: with another description,
    schema or command it is another tool. The file is read at each question, so what another
    window revokes is revoked here.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._here: set[tuple[int, _Key]] = set()

    @property
    def problem(self) -> str:
        """Why nothing is approved always, if the file cannot be used; usually empty."""
        return self._read()[1]

    def approved(self, tool: OfferedTool, conversation: int) -> Approval | None:
        """Return how a tool was approved; None: it has to be asked about."""
        if (conversation, _key(tool)) in self._here:
            return "conversation"
        return "always" if _key(tool) in self._read()[0] else None

    def allow(self, tool: OfferedTool, how: Approval, conversation: int) -> None:
        """Let a tool run unasked from now on.

        Raises:
            StorageError: the file cannot be written.
        """
        if how == "conversation":
            self._here.add((conversation, _key(tool)))
        else:
            self._write(
                {key for key in self._read()[0] if key[:2] != _key(tool)[:2]} | {_key(tool)}
            )

    def revoke(self, tool: OfferedTool) -> None:
        """Ask again before a tool runs, in each conversation and whatever it was before.

        Raises:
            StorageError: the file cannot be written.
        """
        named = _key(tool)[:2]
        self._here = {(where, key) for where, key in self._here if key[:2] != named}
        kept = {key for key in self._read()[0] if key[:2] != named}
        if kept != self._read()[0]:
            self._write(kept)

    def _read(self) -> tuple[set[_Key], str]:
        try:
            entries = json.loads(self._path.read_bytes())["always"]
            keys = {(each["server"], each["tool"], each["fingerprint"]) for each in entries}
            if all(isinstance(part, str) for key in keys for part in key):
                return keys, ""
        except FileNotFoundError:
            return set(), ""
        except OSError as error:
            return set(), f"{self._path} cannot be read ({error.strerror}): no tool is approved."
        except (ValueError, LookupError, TypeError, RecursionError):
            pass
        return set(), f"{self._path} is damaged: no tool is approved. Approve again, or delete it."

    def _write(self, keys: set[_Key]) -> None:
        names = ("server", "tool", "fingerprint")
        entries = [dict(zip(names, key, strict=True)) for key in sorted(keys)]
        try:
            if self._read()[1]:
                self._path.replace(self._path.with_suffix(".damaged"))
            write_private(self._path, json.dumps({"always": entries}, indent=1))
        except OSError as error:
            said = (
                f"{self._path} cannot be written ({error.strerror}). Approvals stay as they were."
            )
            raise StorageError(said) from error


def _key(tool: OfferedTool) -> _Key:
    return tool.server, tool.tool.name, tool.fingerprint
