"""What races: the prompt after what was said so far, or the last question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.request import Request

if TYPE_CHECKING:
    from tui.chat.screen import ChatScreen


def challenge(screen: ChatScreen) -> Request | None:
    """Return what the lanes of a race are to answer; None after saying why there is no race."""
    ready, prompt = screen.talk.ready, screen.prompt
    if ready is None or screen.talk.busy:
        what = "An answer is under way; Esc stops it" if ready else "No models are loaded yet"
        screen.notify(f"{what}. A race needs them to itself.", timeout=4, markup=False)
    elif request := screen.dialogue.race(prompt.text, prompt.attachments, ready.target):
        return request
    else:
        screen.notify("Type a prompt first; it races in two lanes, ArS and SpS.", timeout=4)
    return None
