"""What a user can do to a turn of the conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, cast

from assistant.session.attachments import read
from assistant.session.messages import open_calls, passages_of
from models.errors import StorageError, UsageError
from tui.app.clipboard import code_blocks, copy_and_say
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.turn import Turn, Verb
from tui.chat.prompt.file_search import located
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.edit.text_file import TextFile
    from assistant.store.values import Attachment, StoredMessage
    from tui.app.program import Program
    from tui.chat.chat_controller import ChatController
    from tui.chat.conversation.conversation import Conversation

LONGEST_TITLE = 60
WAIT = "An answer is under way; Esc stops it."


class TurnActions:
    """Do to a turn of the chat what its keys ask for; the last change can be taken back."""

    def __init__(self, view: Conversation, controller: ChatController) -> None:
        self._view, self._controller = view, controller
        self._session, self._path = controller.session, controller.session.branch
        self._undo: list[Callable[[], None]] = []
        self._copied: tuple[str, int] | None = None  # of which text, and which code block of it

    def do(self, turn: Turn, verb: Verb) -> None:
        """Do it, or say why not."""
        record = turn.record
        if verb != "copy-code":
            self._copied = None
        match verb:
            case "copy":
                copy_and_say(self._view, turn.text)
            case "copy-code":
                self._copy_code(turn)
            case "sources" if record:
                self._list_sources(record)
            case "apply" if record and not turn.busy and self._path.shows(record):
                self._tell_if_it_fails(lambda: self._show_change(record))
            case "inspect" if record and self._path.shows(record):
                self._tell_if_it_fails(lambda: self._inspect(turn, record))
            case _ if record is None or not self._session.idle:
                self._view.notify(WAIT, timeout=3)
            case _ if self._path.shows(record):  # not left on the way to another path
                self._tell_if_it_fails(lambda: self._change(record, verb))

    def answer_again(self) -> None:
        """Have another answer to the last question, or the first one if it has none."""
        leaf = self._path.leaf
        if not self._session.idle:
            self._view.notify(WAIT, timeout=3)
        elif leaf is None:
            self._view.notify("There is no question to answer yet.", timeout=3)
        elif leaf.role == "assistant" or open_calls(self._path.records):
            self._again(leaf)
        else:
            self._session.answer()

    def _again(self, record: StoredMessage) -> None:
        if record.role == "tool":
            self._controller.view.call_is_wanted = True
        self._session.answer_again(record)

    def toggle_ghosts(self) -> None:
        """Show wrong guesses in every answer, or hide them."""
        view, settings = self._view, self._controller.settings
        shown = not settings.ghosts
        self._controller.apply(replace(settings, ghosts=shown))
        if not any(answer.view == "tokens" for answer in view.query(Answer)):
            text = "shown where an answer has its colours (v)" if shown else "hidden"
            self._view.notify(f"Wrong guesses are {text}.", timeout=4, markup=False)

    def undo(self) -> None:
        """Take the last deletion, or the last change of a file, back."""
        if self._undo:
            self._tell_if_it_fails(self._undo.pop())
        else:
            self._view.notify("There is nothing to undo.", timeout=3)

    def _tell_if_it_fails(self, change: Callable[[], None]) -> None:
        try:
            change()
        except UsageError as error:
            self._view.notify(str(error), timeout=4, markup=False)
        except StorageError as error:
            self._view.notify(safe(str(error)), severity="error", timeout=10, markup=False)

    def _copy_code(self, turn: Turn) -> None:
        """Copy the last code block; when it was the last thing copied, the one before."""
        blocks = code_blocks(turn.text)
        text, place = self._copied or ("", 0)
        place = (place - 1 if text == turn.text else -1) % len(blocks)
        self._copied = turn.text, place
        which = f"Code block {place + 1} of {len(blocks)}: " if len(blocks) > 1 else ""
        copy_and_say(self._view, blocks[place], which)

    def _inspect(self, turn: Turn, record: StoredMessage) -> None:
        """Open the inspector on an answer, or on what there is of it so far."""
        from tui.chat.inspector.screen import Inspector

        so_far = self._session.responses.partial_of(record)
        trace = so_far.trace if so_far else self._path.trace(record.id)
        title = " ".join((turn.text or record.thought).split())[:LONGEST_TITLE]
        passages = tuple(passages_of(self._path.records).values())
        self._view.app.push_screen(Inspector(trace, title, so_far is not None, passages))

    def _list_sources(self, record: StoredMessage) -> None:
        """List the passages of a turn, each with its text, which stands with a question."""
        from tui.chat.turn_screens import SourcesScreen

        known = passages_of(self._path.records)
        sources = [known.get(each.number, each) for each in record.attachments if each.number]
        self._view.app.push_screen(SourcesScreen(sources, self._open_source))

    def _open_source(self, source: Attachment) -> None:
        """Open the file of a passage where it stands, in the user's editor."""
        from assistant.passages.file_lines import DOCUMENTS

        root, program = self._controller.parts.prompt.picker.root, cast("Program", self._view.app)
        path = located(source.name, root).absolute()
        if path.suffix.lower() in DOCUMENTS:
            wrong = f"{source.name} is not a text file; what was read from it is above."
        elif not path.is_file():
            wrong = f"{source.name} is gone; what was read from it is above."
        else:
            wrong = program.edit(path, source.first)
        if wrong:
            self._view.notify(safe(wrong), severity="warning", timeout=8, markup=False)

    def _show_change(self, record: StoredMessage) -> None:
        """Show what an answer would change in an attached file, and write it if it may be."""
        from assistant.edit import text_file
        from assistant.edit.comparison import compare
        from assistant.edit.review import review
        from assistant.edit.rewrite import proposed_by
        from tui.chat.turn_screens import ChangeScreen

        found = proposed_by(record, self._path.records)
        if found is None:
            raise UsageError("This answer holds no new version of an attached file.")
        place = located(found.name, self._controller.parts.prompt.picker.root)
        file = text_file.read(place)
        new = file.encoded(found.text)
        change = compare(file.lines, text_file.parse(place, new).lines)
        if not change.hunks:
            raise UsageError(f"{found.name} has this change already.")
        text_file.check_writable(place)
        doubts = [f"This is only a fragment: {found.gap}."] if found.gap else []
        if file.encoded(found.old) != file.data:
            doubts.append("The file has changed since it was attached.")
        before = takewhile(lambda other: other.id != record.id, self._path.records)
        (*_, request) = (other.content for other in before if other.role == "user")
        doubts += review(place.suffix, file.text, text_file.parse(place, new).text, request)

        def write(allowed: bool | None) -> None:
            if allowed:
                self._tell_if_it_fails(lambda: self._write(file, new, found.name))

        self._view.app.push_screen(ChangeScreen(found.name, change, doubts), write)

    def _write(self, file: TextFile, new: bytes, name: str) -> None:
        """Write a file; its new version is attached to the next question."""
        from assistant.edit import kept_versions

        keeps = self._controller.settings.save
        kept_versions.write(file, new, file.data if keeps else None)

        def attach() -> None:
            self._controller.parts.prompt.attached.add(read(file.path, name))

        def undo() -> None:
            kept_versions.undo(file.path)
            attach()  # instead of the version that was undone

        attach()
        if keeps:
            self._undo.append(undo)
        back = " u takes it back." if keeps else ""
        self._view.notify(safe(f"Written: {name}.{back}"), timeout=8, markup=False)

    def _change(self, record: StoredMessage, verb: Verb) -> None:
        match verb:
            case "edit":
                self._controller.change(record)
            case "regenerate":
                self._again(record)
            case "continue":
                self._session.continue_from(record)
            case "older" | "newer":
                self._choose(record, -1 if verb == "older" else 1)
            case "fork":
                self._controller.go(lambda: self._path.fork(record))
                self._controller.parts.prompt.focus()
                hint = " Ctrl+R answers the question." if record.role == "user" else ""
                self._view.notify(f"You are in the fork now.{hint}", timeout=5, markup=False)
            case "delete":
                self._delete(record)

    def _choose(self, record: StoredMessage, step: int) -> None:
        sibling = record.siblings[record.siblings.index(record.id) + step]
        self._path.choose(sibling)
        self._view.walk_to(sibling)

    def _delete(self, record: StoredMessage) -> None:
        conversation, view = self._path.conversation or 0, self._view

        def bring_back() -> None:
            self._controller.go(lambda: self._path.restore(conversation, record.id))
            view.walk_to(record.id)

        self._path.delete(record)
        self._undo.append(bring_back)
        view.call_after_refresh(view.focus_last)
        key = "u" if self._path.records else "Ctrl+Z"  # a letter is typed into the prompt
        self._view.notify(
            f"Deleted, with everything after it. {key} brings it back.", timeout=6, markup=False
        )
