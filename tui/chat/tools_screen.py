"""The tools and their servers, what each may do, and what is approved."""

from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from assistant.session.tool_loop import ToolLoop
from assistant.tools.values import OfferedTool, ServerReport
from models.errors import StorageError
from tui.labels import access, counted
from tui.safe import safe
from tui.widgets.dialog import ListDialog

_MARKS = {"ready": "●", "starting": "◌", "failed": "✗", "off": "○"}
_APPROVED = {"always": "always allowed", "conversation": "allowed here", None: "asks"}
MAX_ERRORS = 4000
"""Characters shown of the end of a server's standard error."""


class ToolsScreen(ListDialog[None]):
    """List servers, each above its tools, and the details of the selected row below."""

    DEFAULT_CSS = "ToolsScreen OptionList { max-height: 60%; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f9", "dismiss", "Close", id="tools.close"),
        Binding("t", "turn", "Tools", id="tools.turn", tooltip="Tools on or off here"),
        Binding("x", "revoke", "Revoke", id="tools.revoke", tooltip="Ask again before it runs"),
    ]

    def __init__(self, tool_loop: ToolLoop, conversation: int | None) -> None:
        super().__init__("Tools", "Esc goes back · t turns them on or off · x asks again")
        self._tool_loop, self._choice, self._conversation = tool_loop, tool_loop.tools, conversation
        self._rows: list[ServerReport | OfferedTool] = []

    def on_mount(self) -> None:
        """Start the servers, and list their tools."""
        self.detail.update("Starting the servers …")
        self.list.focus()
        self._refresh()

    @work(exclusive=True)
    async def _refresh(self) -> None:
        await self._choice.refresh()
        self._show()

    def _show(self) -> None:
        state = "on" if self._tool_loop.enabled else "off; t turns them on"
        self.query_one(".frame").border_title = Content(f"Tools in this conversation: {state}")
        reports = self._choice.toolbox.reports()
        self._rows = []
        for report in reports:
            self._rows += [report, *report.tools]
        at = self.list.highlighted or 0
        self.list.set_options([Option(self._line(row)) for row in self._rows])
        self.list.highlighted = min(at, len(self._rows) - 1) if self._rows else None
        if not self._rows:
            self.detail.update("There are no tools.")

    def _line(self, row: ServerReport | OfferedTool) -> Content:
        if isinstance(row, ServerReport):
            mark = _MARKS[row.state]
            about = counted(len(row.tools), "tool") if row.state == "ready" else row.state
            return Content.assemble(
                (f"{mark} {safe(row.name)}", "bold"), (f" · {about}", "$text-muted")
            )
        approved = self._choice.approved(row, self._conversation)
        what = "only reads" if row.read_only else "may change something"
        about = f" · {what} · {_APPROVED[approved]}"
        return Content.assemble(f"  {safe(row.tool.name)}", (about, "$text-muted"))

    @on(OptionList.OptionHighlighted)
    def describe(self, message: OptionList.OptionHighlighted) -> None:
        """Show the details of the row under the cursor."""
        row = self._rows[message.option_index]
        if isinstance(row, OfferedTool):
            parts = [access(row), row.tool.description, f"Arguments: {row.tool.parameters}"]
        else:
            errors = row.errors.strip()[-MAX_ERRORS:]
            parts = [row.reason, f"Its messages:\n{errors}" if errors else ""]
        details = "\n\n".join(filter(None, parts)) or "Ready. No messages."
        self.show_detail(safe(details))

    def action_turn(self) -> None:
        """Turn the tools of this conversation on or off."""
        self._tool_loop.set_enabled(not self._tool_loop.enabled)
        self._show()

    def action_revoke(self) -> None:
        """Revoke the approval of a tool."""
        at = self.list.highlighted
        if at is None or not isinstance(row := self._rows[at], OfferedTool):
            return
        try:
            self._choice.approvals.revoke(row)
        except StorageError as error:
            self.notify(safe(str(error)), severity="warning", timeout=8, markup=False)
        self._show()
