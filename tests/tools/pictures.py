"""The README's pictures, of real runs: `python -m tests.tools.pictures TARGET DRAFT`.

TARGET and DRAFT are GGUF files. It writes docs/chat.svg, an answer seen as tokens beside its
figures, docs/race.svg, the outcome of a race, docs/tools.svg, a call that waits to be allowed,
docs/edit.svg, the change of a file, and docs/folder.svg, an answer from a folder with its source.
"""

import asyncio
import contextlib
import io
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from textual.app import App

from assistant.edit.rewrite import rewrites
from assistant.settings.settings import Settings
from assistant.tools.values import ToolSettings
from tests import ROOT
from tests.tui.rest import until
from tui.app.app import SpecchatApp
from tui.chat.conversation.tool_turns import ApprovalTurn
from tui.chat.conversation.welcome import SUGGESTIONS
from tui.race.lanes import parse, prepare_race
from tui.race.screen import RaceApp
from tui.shell.edit_session import EditSession
from tui.shell.engine_console import EngineConsole

DOCS = ROOT / "docs"
SIZE = (124, 40)
SHOWN = json.loads(Path(__file__).with_name("pictures.json").read_text())
CODE, PLAN, NOTES = SHOWN["code"], SHOWN["plan"], SHOWN["notes"]
PROMPT = f"Repeat this class with one change: its name is LifoStack.{CODE}"


async def chat(settings: Settings) -> None:
    """Ask in the chat, and show the answer's tokens with the drafts that were rejected."""
    async with started(settings, SIZE) as (app, pilot):
        await answered(app, pilot, SUGGESTIONS[0].text)
        await pilot.press("f3", "ctrl+g")
        await pilot.pause(1)
        keep(app, "chat.svg")
        await pilot.press("f3")  # or the next pictures have the figures, too


async def race(settings: Settings) -> None:
    """Let ArS and auto race, and show the outcome."""
    app = RaceApp(prepare_race(parse("ars,auto"), settings, PROMPT), settings)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.race.phase in ("replay", "over"))
        await pilot.press("s")
        await pilot.pause(2)
        keep(app, "race.svg")


async def tools(settings: Settings) -> None:
    """Ask about a folder, and show the call that waits to be allowed after one that has run."""
    with tempfile.TemporaryDirectory(prefix="garden-") as folder:
        Path(folder, "plan.txt").write_text(PLAN)
        settings = replace(settings, n_ctx=8192, tools=ToolSettings(folders=(Path(folder),)))
        async with started(settings, (100, 30)) as (app, pilot):
            await pilot.press("ctrl+n")
            app.chat.session.tool_loop.set_enabled(True)
            app.chat.prompt.editor.text = "Which files are in the folder, and what do they say?"
            await pilot.press("enter")
            for _ in range(2):
                await until(pilot, lambda: app.chat.query(ApprovalTurn))
                await pilot.pause(2)
                keep(app, "tools.svg")
                await pilot.press("enter")
                await until(pilot, lambda: not app.chat.query(ApprovalTurn))
                await until(pilot, lambda: app.chat.query(ApprovalTurn) or app.chat.session.idle)
                if not app.chat.query(ApprovalTurn):
                    return


async def folder(settings: Settings) -> None:
    """Ask a folder of notes, and show the answer above the source that it cites."""
    with tempfile.TemporaryDirectory() as home, contextlib.chdir(home):
        Path("garden").mkdir()
        for name, text in NOTES.items():
            Path("garden", name).write_text(text)
        async with started(replace(settings, n_ctx=8192), (100, 26)) as (app, pilot):
            await pilot.press("ctrl+n", *"@garden/")
            await until(pilot, lambda: app.chat.prompt.picker.searched == "garden/")
            await pilot.press("enter")
            await pilot.pause(3)
            await answered(app, pilot, "When are the carrots sown, and where?")
            await pilot.pause(1)
            keep(app, "folder.svg")


def edit(settings: Settings) -> None:
    """Rewrite the class, and show what changes, without what a terminal shows only meanwhile."""
    console = EngineConsole()
    shown = Console(record=True, width=80, color_system="truecolor", file=io.StringIO())
    console.__dict__["console"] = shown
    with tempfile.TemporaryDirectory() as folder, console.open(starts_engine=True):
        path = Path(folder, "stack.py")
        path.write_text(CODE.lstrip("\n"))
        session = EditSession(console, settings, interactive=False, prints=True, forces=False)
        (parts,) = rewrites([str(path)], "add type hints", session.read)
        session.run(parts)
    title = 'specchat edit stack.py "add type hints"'
    DOCS.joinpath("edit.svg").write_text(shown.export_svg(title=title))


@contextlib.asynccontextmanager
async def started(settings: Settings, size: tuple[int, int]):
    """Run the chat on a screen of this size, from when it is ready."""
    app = SpecchatApp(settings)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.chat.controller.ready and app.chat.session.branch.store)
        app.chat.controller.may_suggest = False  # another model, which depends on the machine
        yield app, pilot


async def answered(app: SpecchatApp, pilot, prompt: str) -> None:
    app.chat.prompt.editor.text = prompt
    await pilot.press("enter")
    await until(pilot, lambda: len(app.chat.session.branch.records) == 2)
    await until(pilot, lambda: app.chat.session.idle)


def keep(app: App[None], name: str) -> None:
    DOCS.joinpath(name).write_text(app.export_screenshot(title="specchat"))
    print(f"docs/{name}")


def main() -> None:
    target, draft = sys.argv[1:]
    settings = Settings(target=target, draft=draft, max_tokens=160, n_ctx=2048, temperature=0)
    with tempfile.TemporaryDirectory() as home:
        os.environ["SPECCHAT_HOME"] = home
        for picture in (chat, race, tools, folder):
            asyncio.run(picture(settings))
        edit(replace(settings, max_tokens=None))


if __name__ == "__main__":
    main()
