"""The actions of the keys on a turn of the conversation."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assistant.session.attachments import read
from assistant.session.messages import open_calls, passages_of
from assistant.session.tool_loop import Decision
from assistant.store.values import Attachment, StoredMessage
from models.errors import StorageError, UsageError
from models.files.places import expand_user
from tui.app.clipboard import code_blocks, copy_and_notify
from tui.chat.chat_controller import ChatController
from tui.chat.conversation.turn import Turn, Verb
from tui.labels import plural

if TYPE_CHECKING:
    from assistant.edit.answer_change import AnswerChange

LONGEST_TITLE = 60
WAIT = "An answer is under way; Esc stops it."


class TurnActions:
    """Carry out the actions on turns; deletions and changes of files can be undone."""

    def __init__(self, controller: ChatController) -> None:
        self._view, self._controller = controller.widgets.conversation, controller
        self._session, self._branch = controller.session, controller.session.branch
        self.undoable: list[Callable[[], None]] = []
        """What takes back each deletion and change of a file."""
        self._copied: tuple[str, int] | None = None  # the turn's text, a block's index

    def perform(self, turn: Turn, verb: Verb | Decision) -> None:
        """Carry out an action on a turn, or say why not."""
        record = turn.record
        if verb != "copy-code":
            self._copied = None
        match verb:
            case "copy":
                copy_and_notify(self._view, turn.text)
            case "copy-code":
                self._copy_code(turn)
            case "once" | "conversation" | "always" | "refuse":
                self._resolve_approval(turn, verb)
            case "sources":
                self._list_sources(record)
            case "apply" if not turn.busy and self._branch.shows(record):
                self._propose(record)
            case "inspect" if self._branch.shows(record):
                self.attempt(lambda: self._inspect(turn, record))
            case _ if not self._session.idle:
                self._view.notify(WAIT, timeout=3)
            case _ if self._branch.shows(record):  # it may have left the branch since the key
                self.attempt(lambda: self._change(record, verb))

    def answer_again(self) -> None:
        """Regenerate the answer to the last question, or answer it if it has none."""
        leaf = self._branch.leaf
        if not self._session.idle:
            self._view.notify(WAIT, timeout=3)
        elif leaf is None:
            self._view.notify("There is no question to answer yet.", timeout=3)
        elif leaf.role == "assistant" or open_calls(self._branch.records):
            self._regenerate(leaf)
        else:
            self._session.answer()

    def _regenerate(self, record: StoredMessage) -> None:
        if record.role == "tool":
            self._controller.view.focus_approval = True
        self._session.answer_again(record)

    def _resolve_approval(self, turn: Turn, decision: Decision) -> None:
        """Run or refuse the tool call that waits for approval, as the user decided."""
        if turn is self._controller.view.approval:
            self._controller.widgets.prompt.focus()
            self.attempt(lambda: self._session.tool_loop.resolve_approval(decision))

    def find(self, message: int, words: Sequence[str]) -> bool:
        """Go to words of a message on any branch of the conversation; return whether it exists."""
        try:
            if message not in {record.id for record in self._branch.records}:
                self._branch.choose(message)
        except StorageError:  # it has been deleted meanwhile
            return False
        self._view.reader.find(message, words)
        return True

    def undo(self) -> None:
        """Undo the last deletion or change of a file."""
        self.attempt(self.undoable.pop(), "Undone.")  # maybe of a conversation that is not shown

    def attempt(self, change: Callable[[], None], done: str = "") -> None:
        """Carry out a change, and notify of its success, or of the reason for its failure."""
        try:
            change()
            if done:
                self._view.notify(done, timeout=6)
        except (UsageError, StorageError) as error:
            self._view.notify(str(error), severity="warning", timeout=8)

    def _copy_code(self, turn: Turn) -> None:
        """Copy the largest code block, after scrolling up the largest in sight; then the next."""
        blocks = code_blocks(turn.text)
        if not blocks:  # what looks like a fence may be none, where a line before it continues
            self._view.notify("There is no code block in this message.", timeout=3)
            return
        if self._copied is not None and self._copied[0] == turn.text:
            index = (self._copied[1] + 1) % len(blocks)
        else:
            sees, all_ = self._view.reader.sees, range(len(blocks))
            in_sight = [] if self._view.follows else [i for i in all_ if sees(turn, blocks[i])]
            index = max(in_sight or all_, key=lambda i: len(blocks[i]))
        self._copied = turn.text, index
        lines = plural(blocks[index].count("\n") + 1, "line")
        what = f"code block {index + 1} of {len(blocks)}, {lines}"
        copy_and_notify(self._view, blocks[index], what)

    def _inspect(self, turn: Turn, record: StoredMessage) -> None:
        from tui.chat.inspector import Inspector

        partial = self._session.responses.under_way if turn.busy else None
        trace = partial.trace if partial else self._branch.trace(record.id)
        title = " ".join((turn.text or record.thought).split())[:LONGEST_TITLE]
        passages = tuple(passages_of(self._branch.records).values())
        self._view.app.push_screen(Inspector(trace, title, partial is not None, passages))

    def _list_sources(self, record: StoredMessage) -> None:
        """List the passages that an answer cites, or those found for a question."""
        from tui.chat.dialogs import SourcesScreen

        passages = passages_of(self._branch.records)
        sources = [passages.get(a.number, a) for a in record.attachments if a.number]  # with text
        self._view.app.push_screen(SourcesScreen(sources, self._open_source))

    def _open_source(self, source: Attachment) -> None:
        from assistant.passages.file_lines import DOCUMENTS

        path = expand_user(source.name).absolute()
        if path.suffix.lower() in DOCUMENTS:
            reason = f"{source.name} is not a text file; what was read from it is above."
        elif not os.path.isfile(path):
            reason = f"{source.name} is gone; what was read from it is above."
        else:
            reason = self._controller.program.edit(path, source.first)
        if reason:
            self._view.notify(reason, severity="warning", timeout=8)

    def _propose(self, record: StoredMessage) -> None:
        """Show the files that an answer writes or changes, one after another."""
        from assistant.edit.answer_change import answer_changes

        changes, reasons = answer_changes(record, self._branch.records)
        if reasons:
            self._view.notify("\n".join(reasons), severity="warning", timeout=8)
        self._show_changes(changes)

    def _show_changes(self, changes: Sequence[AnswerChange]) -> None:
        """Show the first change, and write it once the user confirms; then the others."""
        from tui.chat.dialogs import ChangeScreen

        if not changes:
            return
        change, *others = changes

        def close(confirmed: bool | None) -> None:
            if confirmed:
                done = f"Written: {change.name}. u takes it back."
                self.attempt(lambda: self._write(change), done)
            self._show_changes(others)

        self._view.app.push_screen(ChangeScreen(change, len(others)), close)

    def _write(self, change: AnswerChange) -> None:
        attached = self._controller.widgets.prompt.attached

        def undo() -> None:
            change.undo()
            attached.chips = tuple(c for c in attached.chips if c.attachment.name != change.name)
            if not change.file.missing:
                attached.add(read(change.file.path, change.name))

        change.write(self._controller.settings.save)
        attached.add(read(change.file.path, change.name))
        self.undoable.append(undo)

    def _change(self, record: StoredMessage, verb: Verb) -> None:
        match verb:
            case "edit":
                self._controller.edit_question(record)
            case "regenerate":
                self._regenerate(record)
            case "continue":
                self._session.continue_from(record)
            case "older" | "newer":
                step = -1 if verb == "older" else 1
                sibling = record.siblings[record.siblings.index(record.id) + step]
                self._branch.choose(sibling)
                self._view.reader.find(sibling)
            case "fork":
                self._controller.switch(lambda: self._branch.fork(record))
                self._controller.widgets.prompt.focus()
                hint = " Ctrl+R answers the question." if record.role == "user" else ""
                self._view.notify(f"You are in the fork now.{hint}", timeout=5)
            case "delete":
                self._delete(record)

    def _delete(self, record: StoredMessage) -> None:
        conversation, view = self._branch.conversation or 0, self._view

        def restore() -> None:
            self._controller.switch(lambda: self._branch.restore(conversation, record.id))
            view.reader.find(record.id)

        self._branch.delete(record)
        self.undoable.append(restore)
        view.call_after_refresh(view.focus_last)
        key = "u" if self._branch.records else "Ctrl+Z"  # a letter is typed into the prompt
        hint = f"Deleted, with everything after it. {key} brings it back."
        view.notify(hint, timeout=6)
