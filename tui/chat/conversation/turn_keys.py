"""The keys of a turn. Which of them are offered is up to the turn."""

import re

from textual.binding import Binding, BindingType

CODE = "Copy the code; again: earlier"
KEYS: list[BindingType] = [
    Binding("up,k", "move(-1)", "Previous", id="turn.previous", show=False),
    Binding("down,j", "move(1)", "Next", id="turn.next", show=False),
    Binding("c", "act('copy')", "Copy", id="turn.copy"),
    Binding("y", "act('copy-code')", "Code", id="turn.copy_code", tooltip=CODE),
    Binding("e", "act('edit')", "Edit", id="turn.edit", tooltip="Edit, and ask again"),
    Binding("l", "act('links')", "Links", id="turn.links", tooltip="List the links"),
    Binding("v", "toggle_view", "View", id="turn.view", tooltip="Words or tokens"),
    Binding("g", "toggle_ghosts", "Ghosts", id="turn.ghosts", tooltip="Rejected drafts"),
    Binding("i", "act('inspect')", "Inspect", id="turn.inspect", tooltip="Inspect every token"),
    Binding("n", "act('continue')", "Continue", id="turn.continue", tooltip="Continue if stopped"),
    Binding("r", "act('regenerate')", "Again", id="turn.regenerate", tooltip="Another answer"),
    Binding("left", "act('older')", "Older", id="turn.older", tooltip="Older branch"),
    Binding("right", "act('newer')", "Newer", id="turn.newer", tooltip="Newer branch"),
    Binding("f", "act('fork')", "Fork", id="turn.fork", tooltip="Fork: go on in a copy"),
    Binding("d", "act('delete')", "Delete", id="turn.delete", tooltip="Delete, and what follows"),
]

FENCE = re.compile(r"^[ >]*(?:(?:[-*+]|\d+[.)]) +)*(?:`{3,}[^`\n]*|~{3,}[^\n]*)$", re.MULTILINE)
"""The first line of a code block."""
LINK = re.compile(r"https?://|www\.|\]\(|<[a-z]+:", re.IGNORECASE)
"""What a text with links has; not every text that has it has links."""
