"""Only of what is on disk may the engine keep anything on disk."""

from pathlib import Path

import pytest

from tests.tui.chat.chat_driver import open_chat


@pytest.mark.parametrize("save", [True, False])
async def test_the_engine_is_told_whether_a_conversation_is_on_disk(
    target: Path, save: bool
) -> None:
    async with open_chat(target, save=save) as chat:
        await chat.ask("Hello")
        assert [request.stored for request in chat.engine.requests] == [save]
        assert chat.screen.controller.ready is not None
        model = chat.screen.controller.ready.target
        raced = chat.screen.dialogue.race("Hello again", (), model)
        assert raced is not None
        assert not raced.stored
        going_on = chat.screen.dialogue.go_on(model, "ars")
        assert going_on.stored == save
