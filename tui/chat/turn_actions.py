"""What a person can do to a turn of the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from models.errors import StorageError
from tui.app.clipboard import code_blocks, copy_and_say
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.turn import Turn, Verb
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store import Record
    from tui.chat.screen import ChatScreen

LONGEST_TITLE = 60
WAIT = "One moment: an answer is under way. Esc stops it."


class TurnActions:
    """Do to a turn of the chat what its keys ask for; the last deletion can be taken back."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._undo: list[Callable[[], None]] = []
        self._copied: tuple[str, int] | None = None  # of which text, and which code block of it

    def do(self, turn: Turn, verb: Verb) -> None:
        """Do it, or say why not."""
        record = turn.record
        if verb != "copy-code":
            self._copied = None
        match verb:
            case "copy":
                copy_and_say(self._screen, turn.text)
            case "copy-code":
                self._copy_code(turn)
            case "links":
                self._list_links(turn.text)
            case _ if record is None:
                self._screen.notify(WAIT, timeout=3)
            case "inspect" if self._screen.dialogue.shows(record):
                self._tell_if_it_fails(lambda: self._inspect(turn, record))
            case _ if self._waits:
                self._screen.notify(WAIT, timeout=3)
            case _ if self._screen.dialogue.shows(record):  # not left on the way to another path
                self._tell_if_it_fails(lambda: self._change(record, verb))

    def answer_again(self) -> None:
        """Have another answer to the last question, or the first one if it has none."""
        leaf = self._screen.dialogue.leaf
        if self._waits:
            self._screen.notify(WAIT, timeout=3)
        elif leaf is None:
            self._screen.notify("There is no question to answer yet.", timeout=3)
        elif leaf.role == "assistant":
            self._screen.talk.again(leaf)
        else:
            self._screen.talk.answer()

    def toggle_ghosts(self) -> None:
        """Show rejected drafts in every answer, or hide them."""
        view = self._screen.conversation
        view.ghosts = shown = not view.ghosts
        if not any(answer.view == "tokens" for answer in view.query(Answer)):
            text = "among the tokens of an answer; v on it shows those" if shown else "no longer"
            self._screen.notify(f"Rejected drafts are shown {text}.", timeout=4, markup=False)

    def undo(self) -> None:
        """Take the last deletion back."""
        if self._undo:
            self._tell_if_it_fails(self._undo.pop())
        else:
            self._screen.notify("There is nothing to undo.", timeout=3)

    @property
    def _waits(self) -> bool:
        """Whether the conversation must stay as it is for the moment."""
        return self._screen.dialogue.busy or self._screen.exchange.waits

    def _tell_if_it_fails(self, change: Callable[[], None]) -> None:
        try:
            change()
        except StorageError as error:
            self._screen.notify(safe(str(error)), severity="error", timeout=10, markup=False)

    def _copy_code(self, turn: Turn) -> None:
        """Copy the last code block; when it was the last thing copied, the one before."""
        blocks = code_blocks(turn.text)
        text, place = self._copied or ("", 0)
        place = (place - 1 if text == turn.text else -1) % len(blocks)
        self._copied = turn.text, place
        which = f"Code block {place + 1} of {len(blocks)}: " if len(blocks) > 1 else ""
        copy_and_say(self._screen, blocks[place], which)

    def _inspect(self, turn: Turn, record: Record) -> None:
        """Open the inspector on an answer, or on what there is of it by now."""
        from tui.chat.inspector.screen import Inspector

        dialogue = self._screen.dialogue
        so_far = dialogue.so_far(record)
        trace = dialogue.store.trace(record.id) if so_far is None else so_far
        title = " ".join(turn.text.split())[:LONGEST_TITLE]
        self._screen.app.push_screen(Inspector(trace, title, more=so_far is not None))

    def _list_links(self, text: str) -> None:
        from tui.app.clipboard import WEB
        from tui.chat.conversation.links_screen import LinksScreen
        from tui.chat.conversation.markdown_reading import addresses, read

        found = [link for link in addresses(read(text) or ()) if WEB.fullmatch(link)]
        if found:
            self._screen.app.push_screen(LinksScreen(found))
        else:
            self._screen.notify("There is no web address in this message.", timeout=4)

    def _change(self, record: Record, verb: Verb) -> None:
        screen, dialogue = self._screen, self._screen.dialogue
        match verb:
            case "edit":
                screen.editing.begin(record)
            case "regenerate":
                screen.talk.again(record)
            case "continue":
                screen.talk.go_on(record)
            case "older" | "newer":
                self._choose(record, -1 if verb == "older" else 1)
            case "fork":
                dialogue.open(dialogue.store.fork(record.id))
                screen.follow()
                screen.prompt.focus()
                hint = " Ctrl+R has it answered." if record.role == "user" else ""
                screen.notify(
                    f"This is a conversation of its own now.{hint}", timeout=5, markup=False
                )
            case "delete":
                self._delete(record)

    def _choose(self, record: Record, step: int) -> None:
        dialogue = self._screen.dialogue
        sibling = record.siblings[record.siblings.index(record.id) + step]
        dialogue.store.choose(sibling)
        dialogue.open(dialogue.conversation)
        self._screen.conversation.walk_to(sibling)

    def _delete(self, record: Record) -> None:
        dialogue, conversation = self._screen.dialogue, self._screen.dialogue.conversation
        view = self._screen.conversation

        def bring_back() -> None:
            dialogue.store.restore(record.id)
            dialogue.store.choose(record.id)
            dialogue.open(conversation)
            self._screen.follow()
            view.walk_to(record.id)

        dialogue.store.drop(record.id)
        dialogue.open(conversation)
        self._undo.append(bring_back)
        view.call_after_refresh(view.focus_last)
        key = "u" if dialogue.records else "Ctrl+Z"  # a letter is typed into the prompt
        self._screen.notify(
            f"Deleted, with what followed. {key} brings it back.", timeout=6, markup=False
        )
