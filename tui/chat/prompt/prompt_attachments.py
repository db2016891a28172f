"""What goes along with a text that is being written: how it gets there and goes again."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from textual import on
from textual.containers import Vertical
from textual.events import Click
from textual.message import Message

from assistant.attachment import Attachment
from models.errors import UsageError
from tui.chat.prompt.attachments import LIMIT, read
from tui.chat.prompt.chips import Chip, Chips
from tui.chat.prompt.editor import Editor
from tui.chat.prompt.file_picker import Picker
from tui.chat.prompt.file_search import located
from tui.chat.prompt.input_history import InputHistory
from tui.safe import safe

EDITABLE = 20_000
"""Characters above which a text is slow to edit; as an attachment it is not."""
COUNTED = 400_000
"""Characters above which tokens are only estimated: counting them would hold up answers."""
PASTED = "pasted text"


class Attaching(Vertical):
    """Hold an editor, the files to choose from, and what is attached."""

    @dataclass
    class CountWanted(Message):
        """A text was attached whose tokens should be counted; `counted` takes the answer."""

        label: str
        text: str

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.earlier = InputHistory()
        self.picker, self.chips = Picker(Path()), Chips()
        self.editor = Editor(self.picker, self.earlier)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """What goes along with the text."""
        return self.chips.attachments

    def attach(self, attachment: Attachment) -> None:
        """Add an attachment; one of the same name gives way."""
        self.chips.add(attachment)

    def counted(self, label: str, tokens: int) -> None:
        """Show how many tokens an attachment really has."""
        self.chips.counted(label, tokens)

    def recount(self) -> None:
        """Have the tokens counted again, because another model will read them."""
        self.chips.recount()

    @on(Chips.Uncounted)
    def _want_count(self, message: Chips.Uncounted) -> None:
        message.stop()
        text = message.chip.attachment.text
        if len(text) <= COUNTED:
            self.post_message(self.CountWanted(message.chip.label, text))

    @on(Picker.Clicked)
    def _click(self, message: Picker.Clicked) -> None:
        message.stop()
        self.editor.mention()

    @on(Editor.Mentioned)
    async def _read(self, message: Editor.Mentioned) -> None:
        message.stop()
        # What is sent meanwhile waits for the file, because this widget handles it afterwards.
        path = located(message.name, self.picker.root)
        try:
            self.attach(await asyncio.to_thread(read, path, message.name))
        except UsageError as error:
            self._say(str(error))

    def attach_pasted(self, text: str) -> None:
        """Add a text that has no name."""
        if len(text) > LIMIT:
            most = f"{LIMIT:,} fit. Save it as a file and attach a part of it."
            self._say(f"The paste has {len(text):,} characters; {most}")
            return
        names = {attachment.name for attachment in self.attachments}
        numbered = (f"{PASTED} {number}" for number in range(2, len(names) + 3))
        name = next(name for name in (PASTED, *numbered) if name not in names)
        self.attach(Attachment(name, text))

    @on(Editor.Pasted)
    def _paste(self, message: Editor.Pasted) -> None:
        message.stop()
        self.attach_pasted(message.text)

    @on(Editor.Emptier)
    def _drop_last(self, message: Editor.Emptier) -> None:
        message.stop()
        self.chips.chips = self.chips.chips[:-1]

    @on(Editor.Attachments)
    @on(Click, "Chips")
    def _show_attachments(self, message: Message) -> None:
        message.stop()
        if not self.attachments:
            self.notify("Nothing is attached. Type @ to add a file.", timeout=4)
            return
        from tui.chat.prompt.attachments_screen import AttachmentsScreen

        self.app.push_screen(AttachmentsScreen(self.chips.chips), self._use)

    def _use(self, outcome: "tuple[tuple[Chip, ...], Chip | None] | None") -> None:
        if outcome is None:
            return
        kept, inserted = outcome
        self.chips.chips = tuple(chip for chip in kept if chip is not inserted)
        if inserted is not None:
            self.editor.type_in(inserted.attachment.text)

    def _say(self, text: str) -> None:
        self.notify(safe(text), severity="warning", timeout=8, markup=False)
