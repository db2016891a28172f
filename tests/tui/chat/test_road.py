"""From the event to the painted token: how many hands it goes through."""

import re
import sys
from pathlib import Path

from assistant.events import Decoded
from tests.test_layers import ROOT
from tests.tui.chat.chat_driver import open_chat
from tui.app.messages import EngineSaid
from tui.chat.conversation.token_view import TokenView

MAX_CALLS = 4


async def test_a_token_is_painted_after_few_calls(tiny_target, tiny_draft, monkeypatch):
    roads = set()
    add = TokenView.add

    def noted(view, step):
        road, frame = [], sys._getframe(0)
        while frame is not None and frame.f_code.co_name != "_on_message":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(ROOT / "tui"):
                road.append(f"{path.relative_to(ROOT)}: {frame.f_code.co_qualname}")
            frame = frame.f_back
        roads.add(tuple(reversed(["TokenView.add", *road])))
        add(view, step)

    monkeypatch.setattr(TokenView, "add", noted)
    async with open_chat(tiny_target, tiny_draft, asked=("Why?",)) as chat:
        assert chat.engine.heard(Decoded)
    assert roads
    for handler, *calls in roads:
        assert EngineSaid.__name__ in handler or handler.endswith("Program.take"), handler
        assert len(calls) <= MAX_CALLS, calls


def test_the_road_that_is_written_down_leads_over_files_that_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    stations = re.findall(r"^((?:tui|assistant)/\S+)", text, re.MULTILINE)
    assert 20 < len(stations) <= 30
    assert [station for station in stations if not (ROOT / station).exists()] == []
