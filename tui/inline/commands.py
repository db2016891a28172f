"""The commands that are typed after a slash, and what completes them."""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from assistant.edit.answer_change import AnswerChange, answer_changes
from assistant.request import Constraint, ConstraintKind
from assistant.session.attachments import attachment_of, read
from assistant.session.tool_loop import Decision
from assistant.store.values import StoredMessage
from models.errors import SpecchatError, UsageError
from models.files.places import expand_user
from tui.app.clipboard import code_blocks, copy
from tui.chat.conversation.turn import when
from tui.chat.prompt.file_search import files_below, is_path, matching
from tui.inline.chat import InlineChat
from tui.inline.scrollback import NOTE
from tui.labels import MODES
from tui.outlook import outlook
from tui.safe import one_line
from tui.widgets.lines import MUTED

MAX_LISTED, HELP = 20, 24
"""Conversations that are listed and files that are offered; cells of a command in /help."""
KEYS = "Esc or Ctrl+C stops an answer. Ctrl+J breaks a line. ↑ and Ctrl+R find old questions."
DIFF = {"+": "$text-success", "-": "$text-error", " ": MUTED}
REPLIES: dict[str, Decision] = {
    "y": "once", "yes": "once", "c": "conversation", "a": "always",
    "": "refuse", "n": "refuse", "no": "refuse",
}  # fmt: skip
"""The lines that reply to a question of the program; any other means no, and then what it says."""


class SlashCommands(Completer):
    """Carry out commands, and complete them and the names of files.

    Each method that begins with `do_` is a command; its docstring is its line in /help.
    """

    def __init__(self, chat: InlineChat) -> None:
        self._chat, self._store = chat, chat.store
        self._session, self._branch = chat.session, chat.session.branch
        self._changes: list[AnswerChange] = []  # the first is shown, and waits for a reply
        self._undo: list[AnswerChange] = []  # changes that were written
        self._known: tuple[str, ...] = ()  # the files below the folder
        self.names = [name[3:] for name in vars(type(self)) if name.startswith("do_")]
        """The commands, in the order of /help."""

    def enter(self, text: str) -> None:
        """Handle a line: a reply to a question of the program, a command, or a user's question."""
        changes, self._changes = self._changes, []
        is_asked = bool(changes or self._session.tool_loop.pending)
        decision = REPLIES.get(text.strip().lower()) if is_asked else None
        try:
            if changes and decision == "once":
                self._write(changes[0])
            elif changes:
                self._note("Not written.")
            elif decision:
                self._session.tool_loop.resolve_approval(decision)
            if not decision:
                self._carry_out(text)
        except SpecchatError as error:
            self._note(str(error), NOTE)
        if decision:
            self._show_changes(changes[1:])

    def _carry_out(self, text: str) -> None:
        """Carry out a command, or have a question answered; a blank line sends what is queued."""
        name, _, rest = text.rstrip().partition(" ")  # a slash after a blank is no command
        if name.startswith("/") and name[1:] in self.names:
            getattr(self, f"do_{name[1:]}")(rest.strip())
        elif name.startswith("/") and name[1:].isalpha() and not os.path.exists(name):
            hint = "/help lists the commands; a line with a blank before it is a question."
            raise UsageError(f"There is no {name}; {hint}")
        elif text.strip():
            self._chat.submit(text)
        elif self._session.idle:
            self._chat.unsent.submit_next()

    def _note(self, text: str, style: str = MUTED) -> None:
        self._chat.scrollback.note(text, style)

    def do_new(self, _: str) -> None:
        """: begin another conversation"""
        self._require_idle()
        self._session.open(None)
        self._note("A new conversation.")

    def do_chats(self, words: str) -> None:
        """[WORDS]: list conversations, or find them"""
        lines = [
            f"{row.id:>6}  {when(row.updated):>17}  {one_line(row.title) or '(untitled)'}"
            for row in self._store.summaries(words, MAX_LISTED + 1)
        ]
        if lines[MAX_LISTED:]:
            lines[MAX_LISTED] = f"There are more than {MAX_LISTED}; /chats WORDS finds others."
        self._note("\n".join(lines) or "There are no such conversations.")

    def do_open(self, number: str) -> None:
        """NUMBER: continue one of them"""
        self._require_idle()
        if not number.isdecimal():
            raise UsageError("Say which: /open NUMBER; /chats lists them.")
        if not self._store.is_there(min(int(number[:20]), sys.maxsize)):
            raise UsageError(f"There is no conversation {number[:20]}; /chats lists them.")
        self._session.open(int(number))
        self._chat.scrollback.show_path()

    # The last question and its answer

    def _require_idle(self) -> None:
        if not self._session.idle:
            raise UsageError("Esc stops the answer first.")

    def _last(self, role: str) -> StoredMessage:
        self._require_idle()
        for record in reversed(self._branch.records):
            if record.role == role:
                return record
        raise UsageError("There is nothing yet.")

    def do_retry(self, _: str) -> None:
        """: answer the last question once more"""
        question, records = self._last("user"), self._branch.records
        if self._branch.leaf is question:
            self._session.answer()
        else:
            self._session.answer_again(records[records.index(question) + 1])

    def do_edit(self, _: str) -> None:
        """: change the last question"""
        question = self._last("user")
        self._chat.unsent.leave()
        self._chat.unsent.change(question)

    def do_copy(self, what: str) -> None:
        """[code]: copy the answer, or its longest code"""
        text = self._last("assistant").content
        text = max(code_blocks(text), key=len, default="") if what == "code" else text

        async def copy_and_note() -> None:
            self._note(await copy(text, self._chat.prompt.copy))

        self._chat.start(copy_and_note())

    def do_apply(self, _: str) -> None:
        """: write the files that the answer holds"""
        changes, reasons = answer_changes(self._last("assistant"), self._branch.records)
        self._note("\n".join(reasons), NOTE)
        self._show_changes(changes)

    def _show_changes(self, changes: list[AnswerChange]) -> None:
        """Show the first change, and ask whether to write it; the others follow."""
        if not changes:
            return
        change = changes[0]
        for hunk in change.hunks:
            self._note(f"{change.name}, line {hunk.start}")
            for sign, text in hunk.lines:
                self._note(sign + text.expandtabs(4), DIFF[sign])
        self._note("\n".join(change.warnings), NOTE)
        self._note(f"Write {one_line(str(change.file.path))}? y: yes, Enter: no")
        self._changes = changes

    def _write(self, change: AnswerChange) -> None:
        change.write(self._chat.settings.save)
        self._undo.append(change)
        self._note(f"Written: {one_line(change.name)}.")
        self._chat.attach(read(change.file.path, change.name))

    def do_undo(self, _: str) -> None:
        """: take back the file that /apply wrote last"""
        if not self._undo:
            raise UsageError("There is nothing to undo.")
        (change := self._undo.pop()).undo()
        self._note(f"{one_line(str(change.file.path))} is as it was.")
        if change.file.missing:
            self._chat.attachments = [a for a in self._chat.attachments if a.name != change.name]
        else:
            self._chat.attach(read(change.file.path, change.name))  # replaces what was undone

    # The next answers

    def do_attach(self, name: str) -> None:
        """[FILE]: attach a file or folder, as @FILE; alone: remove all"""
        if name:
            self._chat.attach(attachment_of(name))
        else:  # an empty name would attach the root folder
            self._chat.attachments.clear()
            self._note("Nothing is attached.")

    def do_tools(self, word: str) -> None:
        """on|off: let answers call tools"""
        tools = self._session.tool_loop
        if word in ("on", "off"):
            tools.set_enabled(word == "on")
        state = "on" if tools.enabled else "off"
        why = "" if tools.tools.settings else " There are none: see [tools] in config.toml."
        self._note(f"Tools are {state} in this conversation.{why}")

    def do_form(self, text: str) -> None:
        """off|regex PATTERN|schema FILE|grammar FILE: what answers obey"""
        from assistant.constraints.grammar import fields_of  # few chats need it

        word, _, value = text.partition(" ")
        kind = next((kind for kind in get_args(ConstraintKind) if kind == word and value), None)
        if not kind and word != "off":
            raise UsageError(f"Say which: /form {self._about('form')}.")
        constraint = None
        if kind:
            value = value if kind == "regex" else read(expand_user(value), value).text
            fields_of(constraint := Constraint(kind, value))  # raises an error if it is invalid
        self._chat.constraint = constraint
        self._note(f"Form: {one_line(text)}")

    def do_mode(self, word: str) -> None:
        """auto|sps|ars: guess where it pays, always, or never"""
        mode = next((mode for mode in MODES if mode == word), None)
        if mode is None:
            raise UsageError(f"Say which: /mode {self._about('mode')}.")
        self._chat.apply(replace(self._chat.settings, mode=mode))

    def do_model(self, name: str) -> None:
        """[NAME]: answer with another model"""
        if name:
            self._chat.start(self._chat.load(name))
        elif self._chat.ready:
            self._note(str(self._chat.ready.target.path))

    def do_figures(self, _: str) -> None:
        """: what guessing gained in the last answer"""
        last = self._chat.scrollback.status.last
        if last is None:
            raise UsageError("There is no answer yet.")
        summary = outlook(last)
        self._note("\n".join(filter(None, (summary.gain, summary.why, summary.doing))))

    def do_help(self, _: str) -> None:
        """: list the commands and keys"""
        for name in self.names:
            takes, _, does = self._about(name).partition(": ")
            usage = f"/{name} {takes}".ljust(HELP)
            self._note(usage + (f"\n{'':{HELP}}" if len(usage) > HELP else "") + f" {does}")
        self._note(KEYS)

    def do_quit(self, _: str) -> None:
        """: leave; Ctrl+D does, too"""
        self._chat.prompt.leave()

    def _about(self, name: str) -> str:
        return str(getattr(self, f"do_{name}").__doc__)

    # Completion

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """Offer commands after a slash, and files after an at sign."""
        before = document.text_before_cursor
        word = re.split(r"[ \n]", before)[-1]  # the word that ends at the cursor
        if word.startswith("@") or before.startswith("/attach "):
            typed = word.removeprefix("@")
            self._known = self._known or (() if is_path(typed) else files_below(Path()))
            names = (match.name for match in matching(typed, self._known, MAX_LISTED))
            yield from (Completion(name, -len(typed)) for name in names)
        elif before.startswith("/") and " " not in before:
            for name in self.names:
                if name.startswith(before[1:]):
                    yield Completion(name, 1 - len(before), display_meta=self._about(name))
