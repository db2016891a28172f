"""The tools and their servers: what there is, what each may do, and what is approved."""

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.talk.tool_set import ToolSet
from assistant.tools.values import OfferedTool, ServerReport
from models.errors import StorageError
from tui.call_text import access
from tui.safe import safe

_MARKS = {"ready": "●", "starting": "◌", "failed": "✗", "off": "○"}
_APPROVED = {"always": "always allowed", "conversation": "allowed here", None: "asks"}
LAST = 4000
"""Characters that are shown of the end of a server's standard error."""


class ToolsScreen(ModalScreen[None]):
    """List servers, each above its tools; below, say all that is known of what is chosen."""

    DEFAULT_CSS = """
    ToolsScreen {
        align: center middle;
        background: $background 60%;

        & > Vertical {
            width: 100; max-width: 96%; height: 90%; padding: 0 1; background: $surface;
            border: round $primary;
            border-title-color: $text-accent; border-title-style: bold;
            border-subtitle-color: $text-muted;
        }
        & OptionList {
            height: auto; max-height: 60%; padding: 0; border: none; background: $surface;
        }
        & OptionList:focus { border: none; }
        & VerticalScroll {
            height: 1fr; min-height: 4; margin: 1 0 0 0; padding: 0 1; scrollbar-size-vertical: 1;
            border-top: solid $border-blurred;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f9", "close", "Close", id="tools.close"),
        Binding("space,o", "switch", "On or off", id="tools.switch", tooltip="On or off here"),
        Binding("x", "revoke", "Revoke", id="tools.revoke", tooltip="Ask again before it runs"),
        Binding("pageup", "scroll(-1)", "Scroll up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Scroll down", show=False, priority=True),
        Binding("ctrl+c", "app.help_quit", "Quit", show=False),
    ]

    def __init__(self, choice: ToolSet, conversation: int | None) -> None:
        super().__init__()
        self._choice, self._conversation = choice, conversation
        self._rows: list[ServerReport | OfferedTool] = []
        self.list = OptionList(markup=False)
        self.detail = Static("Starting the servers …", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the list and what is known of a row."""
        with Vertical() as box:
            box.border_title = "Tools"
            box.border_subtitle = "Space: on or off here · x: ask again · Esc goes back"
            yield self.list
            with VerticalScroll(can_focus=False):
                yield self.detail

    def on_mount(self) -> None:
        """Show what is known, and learn the rest."""
        self.list.focus()
        self._learn()

    @work(exclusive=True)
    async def _learn(self) -> None:
        await self._choice.learn()
        self._show()

    def _show(self) -> None:
        reports = self._choice.box.reports()
        self._rows = []
        for report in reports:
            self._rows += [report, *report.tools]
        at = self.list.highlighted or 0
        self.list.set_options([Option(self._line(row)) for row in self._rows])
        self.list.highlighted = min(at, len(self._rows) - 1) if self._rows else None
        if not self._rows:
            self.detail.update("There is none.")

    def _line(self, row: ServerReport | OfferedTool) -> Content:
        off = "" if self._choice.is_on(row, self._conversation) else " · off here"
        if isinstance(row, ServerReport):
            mark = _MARKS[row.state]
            count = f"{len(row.tools)} tools" if len(row.tools) != 1 else "1 tool"
            about = count if row.state == "ready" else row.state
            return Content.assemble(
                (f"{mark} {safe(row.name)}", "bold"), (f" · {about}{off}", "$text-muted")
            )
        approved = self._choice.approved(row, self._conversation)
        what = "only reads" if row.read_only else "may change something"
        about = f" · {what} · {_APPROVED[approved]}{off}"
        return Content.assemble(f"  {safe(row.tool.name)}", (about, "$text-muted"))

    @on(OptionList.OptionHighlighted)
    def tell(self, message: OptionList.OptionHighlighted) -> None:
        """Say all that is known of the row under the cursor."""
        row = self._rows[message.option_index]
        if isinstance(row, OfferedTool):
            parts = [access(row), row.tool.description, f"Arguments: {row.tool.parameters}"]
        else:
            errors = row.errors.strip()[-LAST:]
            parts = [row.problem, f"It wrote:\n{errors}" if errors else ""]
        said = "\n\n".join(filter(None, parts)) or "It is ready, and has written nothing."
        self.detail.update(safe(said))
        self.query_one(VerticalScroll).scroll_home(animate=False)

    @property
    def _chosen(self) -> ServerReport | OfferedTool | None:
        at = self.list.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    @on(OptionList.OptionSelected)
    def action_switch(self) -> None:
        """Offer the tool, or all of the server's, to this conversation no longer, or again."""
        if (row := self._chosen) is not None:
            self._choice.switch(row, self._conversation)
            self._show()

    def action_revoke(self) -> None:
        """Ask again before the tool runs."""
        row = self._chosen
        if not isinstance(row, OfferedTool):
            return
        try:
            self._choice.approvals.revoke(row)
        except StorageError as error:
            self.notify(safe(str(error)), severity="warning", timeout=8, markup=False)
        self._show()

    def action_scroll(self, direction: int) -> None:
        """Scroll what is known of the row by a page."""
        view = self.query_one(VerticalScroll)
        view.scroll_page_up() if direction < 0 else view.scroll_page_down()

    def action_close(self) -> None:
        """Go back to the chat."""
        self.dismiss(None)
