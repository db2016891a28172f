"""Dialogs of the chat: the passages of a turn, the change of a file that it proposes, the tools."""

from collections.abc import Callable, Sequence
from typing import ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.edit.answer_change import AnswerChange
from assistant.session.tool_loop import ToolLoop
from assistant.settings.config_file import add_tools, with_tools
from assistant.store.values import Attachment
from assistant.tools.values import BUILT_IN, OfferedTool, ServerReport
from models.errors import StorageError, UsageError
from tui.labels import access, plural
from tui.safe import one_line, safe
from tui.shell.diff_printing import counts, draw_hunk
from tui.widgets.dialog import Dialog, ListDialog
from tui.widgets.entry_screen import EntryScreen

HINT = "Esc leaves it as it is · Enter writes it"


class SourcesScreen(ListDialog[None]):
    """List passages above the text of the one under the cursor; Enter opens its file."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,s,q", "dismiss", "Close", id="sources.close"),
    ]
    DEFAULT_CSS = "SourcesScreen OptionList { max-height: 8; }"

    def __init__(self, sources: Sequence[Attachment], open_: Callable[[Attachment], None]) -> None:
        super().__init__("Sources", "Esc goes back · Enter opens the file there")
        self._sources, self._open = sources, open_

    def on_mount(self) -> None:
        """List the passages, the cursor on the first."""
        self.list.set_options([Option(Content(one_line(source.title))) for source in self._sources])
        self.list.highlighted = 0

    @on(OptionList.OptionHighlighted)
    def _show_text(self, message: OptionList.OptionHighlighted) -> None:
        self.show_detail(Content(safe(self._sources[message.option_index].text)))

    @on(OptionList.OptionSelected)
    def _open_file(self, message: OptionList.OptionSelected) -> None:
        self._open(self._sources[message.option_index])


class ChangeScreen(Dialog[bool]):
    """Show the change of a file; return whether it is to be written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "dismiss(True)", "Write the file", id="change.write"),
        Binding("escape,q", "dismiss(False)", "Discard the change", id="change.leave"),
    ]
    DEFAULT_CSS = """
    ChangeScreen > .frame { width: 90%; max-width: 120; padding: 0 2; }
    ChangeScreen Static { height: auto; }
    """

    def __init__(self, change: AnswerChange, others: int) -> None:
        super().__init__()
        more = f" · {plural(others, 'more file')}" if others > 0 else ""
        self._title = f"{one_line(change.name)} · {counts(change.hunks)} lines{more}"
        path = Content.styled(one_line(str(change.file.path)), "$text-muted")
        notes = [Content.styled(safe(warning), "$text-warning") for warning in change.warnings]
        changes = (Content.from_rich_text(draw_hunk(hunk)) for hunk in change.hunks)
        self._change = Content("\n").join([path, *notes, *changes])

    def compose(self) -> ComposeResult:
        """Lay out the change."""
        with VerticalScroll(classes="frame") as box:
            box.border_title, box.border_subtitle = self._title, HINT
            yield Static(self._change, markup=False)


_MARKS = {"ready": "●", "starting": "◌", "failed": "✗", "off": "○"}
_APPROVED = {"always": "always allowed", "conversation": "allowed here", None: "asks"}
KEYS, REVOKES = "Esc goes back · Ctrl+O adds · Ctrl+T on or off", " · Del asks again"
ADDING = "A folder to read (~/notes), a server's command, or its address (http://…)."
NO_TOOLS = (
    "With tools, the model reads your folders and uses servers while it answers; it asks first. "
    "There are none yet: Ctrl+O adds a folder or a server; or see config.toml, [tools]."
)
POLL_S = 0.5  # between two checks whether a server has started or ended
MAX_ERRORS = 4000
"""Characters shown of the end of a server's standard error."""


class ToolsScreen(ListDialog[None]):
    """List servers, each above its tools, and the details of the selected row below."""

    DEFAULT_CSS = "ToolsScreen OptionList { max-height: 60%; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f9", "back", "Close", id="tools.close"),
        Binding("ctrl+t", "switch", "On or off", id="tools.turn", tooltip="Tools on or off here"),
        Binding("ctrl+o", "add", "Add", id="tools.add", tooltip="Add a folder or a server"),
        Binding("delete", "revoke", "Revoke", id="tools.revoke", tooltip="Ask again before use"),
    ]

    def __init__(
        self, tool_loop: ToolLoop, conversation: int | None, read: Callable[[], None]
    ) -> None:
        """`read` reads `config.toml` again after a change."""
        super().__init__("Tools", KEYS)
        self._tool_loop, self._tools, self._conversation = tool_loop, tool_loop.tools, conversation
        self._rows: list[ServerReport | OfferedTool] = []
        self._reports: tuple[ServerReport, ...] = ()  # as they are shown
        self._read, self._filter = read, ""

    def on_mount(self) -> None:
        """Start the servers, and list their tools."""
        self.set_interval(POLL_S, self._show_changes)
        self._refresh()

    @work(exclusive=True)
    async def _refresh(self) -> None:
        await self._tools.refresh()
        self._show()

    def _show_changes(self) -> None:
        if self._reports != self._tools.reports():
            self._show()

    def _show(self) -> None:
        self._reports = self._tools.reports()
        state = "on" if self._tool_loop.enabled else "off (Ctrl+T)"
        search = f" · “{safe(self._filter)}”" if self._filter else ""
        self.query_one(".frame").border_title = Content(f"Tools here: {state}{search}")
        self._rows = []
        for report in self._reports:
            tools = [tool for tool in report.tools if self._filter in tool.tool.name.lower()]
            if tools or self._filter in report.name.lower():
                self._rows += [report, *tools]
        index = self.list.highlighted or 0
        self.list.set_options([Option(self._line(row)) for row in self._rows])
        self.list.highlighted = min(index, len(self._rows) - 1) if self._rows else None
        if not self._rows:
            self.detail.update("Nothing found. Esc shows all." if self._filter else NO_TOOLS)

    def _line(self, row: ServerReport | OfferedTool) -> Content:
        if isinstance(row, ServerReport):
            name = f"{_MARKS[row.state]} {safe(row.name)}"
            about = plural(len(row.tools), "tool") if row.state == "ready" else row.state
            return Content.assemble((name, "bold"), (f" · {about}", "$text-muted"))
        approved = self._tools.approval(row, self._conversation)
        effect = "only reads" if row.read_only else "may change something"
        about = f" · {effect} · {_APPROVED[approved]}"
        return Content.assemble(f"  {safe(row.tool.name)}", (about, "$text-muted"))

    @on(OptionList.OptionHighlighted)
    def _describe(self, message: OptionList.OptionHighlighted) -> None:
        row = self._rows[message.option_index]
        if isinstance(row, OfferedTool):
            parts = [access(row), row.tool.description, f"Arguments: {row.tool.parameters}"]
        else:
            errors = row.errors.strip()[-MAX_ERRORS:]
            folders = self._tools.settings.folders if row.name == BUILT_IN else ()
            reads = f"It reads {', '.join(map(str, folders))}." if folders else ""
            state = row.reason or f"{row.state.capitalize()}."
            parts = [state, reads, f"Its messages:\n{errors}" if errors else ""]
        details = safe("\n\n".join(filter(None, parts)))
        self.show_detail(details, REVOKES if self.check_action("revoke", ()) else "")

    def on_key(self, event: Key) -> None:
        """Search for what is typed."""
        if event.is_printable and event.character:
            self._filter += event.character.lower()
        elif event.key == "backspace":
            self._filter = self._filter[:-1]
        else:
            return
        self._show()

    def action_back(self) -> None:
        """Clear the search, or close if there is none."""
        if self._filter:
            self._filter = ""
            self._show()
        else:
            self.dismiss()

    def action_add(self) -> None:
        """Ask for a folder or a server, and add it."""
        entry = EntryScreen("Add a folder or a server", "", ADDING, self._invalid_reason)
        self.app.push_screen(entry, self._add)

    def _invalid_reason(self, line: str) -> str:
        try:
            with_tools(line)
        except UsageError as error:
            return str(error)
        return ""

    def _add(self, line: str | None) -> None:
        if line is not None:
            try:
                add_tools(line)
            except UsageError as error:
                self.notify(str(error), severity="warning", timeout=8)
                return
            self._read()
            self._tool_loop.set_enabled(self._tool_loop.enabled or bool(self._tools.settings))
            self._refresh()

    def action_switch(self) -> None:
        """Turn the tools of this conversation on or off."""
        self._tool_loop.set_enabled(not self._tool_loop.enabled)
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to revoke what is approved."""
        if action != "revoke":
            return True
        row = self._rows[self.list.highlighted or 0] if self._rows else None
        return isinstance(row, OfferedTool) and bool(self._tools.approval(row, self._conversation))

    def action_revoke(self) -> None:
        """Revoke the approval of a tool."""
        try:
            self._tools.approvals.revoke(cast(OfferedTool, self._rows[self.list.highlighted or 0]))
        except StorageError as error:
            self.notify(str(error), severity="warning", timeout=8)
        self._show()
