"""The keys of a turn. Which of them are offered is up to the turn."""

import re

from textual.binding import Binding, BindingType

KEYS: list[BindingType] = [
    Binding("up,k", "move(-1)", "Previous", id="turn.previous", show=False),
    Binding("down,j", "move(1)", "Next", id="turn.next", show=False),
    Binding("c", "act('copy')", "Copy", id="turn.copy"),
    Binding("y", "act('copy-code')", "Code", id="turn.copy_code", tooltip="Copy the code"),
    Binding("e", "act('edit')", "Edit", id="turn.edit"),
    Binding("l", "act('links')", "Links", id="turn.links", tooltip="List the links"),
    Binding("v", "toggle_view", "View", id="turn.view", tooltip="Words or tokens"),
    Binding("g", "toggle_ghosts", "Ghosts", id="turn.ghosts", tooltip="Rejected drafts"),
    Binding("i", "act('inspect')", "Inspect", id="turn.inspect"),
    Binding("n", "act('continue')", "Continue", id="turn.continue"),
    Binding("r", "act('regenerate')", "Again", id="turn.regenerate"),
    Binding("left", "act('older')", "Older", id="turn.older"),
    Binding("right", "act('newer')", "Newer", id="turn.newer"),
    Binding("f", "act('fork')", "Fork", id="turn.fork"),
    Binding("d", "act('delete')", "Delete", id="turn.delete"),
]

FENCE = re.compile(r"^[ >]*(?:(?:[-*+]|\d+[.)]) +)*(?:`{3,}[^`\n]*|~{3,}[^\n]*)$", re.MULTILINE)
"""The first line of a code block."""
LINK = re.compile(r"https?://|www\.|\]\(|<[a-z]+:", re.IGNORECASE)
"""What a text with links has; not every text that has it has links."""
