"""Snapshots of the outcome of a race at two sizes."""

from collections.abc import Iterator

import pytest
from textual.pilot import Pilot

from assistant.events import Event, RaceOver, RaceReady
from assistant.request import AnyJob
from assistant.settings.settings import Settings
from tests.tui.race.race_recorded import RACE, WORDS, Recorded, ready
from tests.tui.rest import calm, until
from tui.race.screen import RaceApp
from tui.text.text_view import TextView


async def outcome(pilot: Pilot[None]) -> None:
    """Skip the replay, and wait until everything is painted."""
    app = pilot.app
    assert isinstance(app, RaceApp)
    await until(pilot, lambda: app.race.phase == "replay")
    await pilot.press("s")
    await until(pilot, lambda: "outcome" in app.race.line.classes and painted(app))
    await calm(pilot)


def painted(app: RaceApp) -> bool:
    shown = "".join(line.content.plain for view in app.race.query(TextView) for line in view.lines)
    return shown.count(WORDS[-1].strip()) == len(RACE.lanes)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_race_looks_as_it_did(snap_compare, size: tuple[int, int]) -> None:
    app = RaceApp(RACE, Settings())
    app._engine = Recorded()
    assert snap_compare(app, terminal_size=size, run_before=outcome)


class Wordless(Recorded):
    """An engine whose race was stopped before it began."""

    def events_of(self, job: AnyJob) -> Iterator[Event]:
        yield RaceReady((ready(False), ready(True)))
        yield RaceOver()


async def test_a_race_without_a_word_is_not_replayed() -> None:
    app = RaceApp(RACE, Settings())
    app._engine = Wordless()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.race.phase == "over")
        await pilot.press("r")
        assert app.race.phase == "over"
