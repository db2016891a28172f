"""The keys of the chat. Which of them are offered is up to its screen."""

from textual.binding import Binding, BindingType

KEYS: list[BindingType] = [
    Binding("f1", "app.help", "Help", id="chat.help"),
    Binding("f2", "chats", "Chats", id="chat.chats", tooltip="List of conversations"),
    Binding("f3", "panel", "Figures", id="chat.panel", tooltip="Speculation at work"),
    Binding("f4", "race", "Race", id="chat.race", tooltip="Race ArS against SpS"),
    Binding("ctrl+t", "toggle_mode", "ArS/SpS", id="chat.mode", tooltip="Switch auto, SpS and ArS"),
    Binding("ctrl+n", "new", "New", id="chat.new", tooltip="New conversation"),
    Binding("escape", "stop", "Stop", id="chat.stop"),
    Binding("escape", "leave", "Leave", id="chat.leave", tooltip="Leave the question as it was"),
    Binding("escape", "back", "Back", id="chat.back", tooltip="Back to the prompt"),
    Binding("f5,ctrl+o", "app.choose_model", "Models", id="chat.models"),
    Binding("f6", "app.settings", "Settings", id="chat.settings"),
    Binding("ctrl+r", "regenerate", "Another answer", id="chat.regenerate", show=False),
    Binding("ctrl+s", "several", "Several answers", id="chat.several", show=False),
    Binding("ctrl+y", "copy", "Copy the answer", id="chat.copy", show=False),
    Binding("ctrl+g", "ghosts", "Rejected drafts", id="chat.ghosts", show=False),
    Binding("ctrl+up", "turns", "To the messages", id="chat.turns", show=False),
    Binding("u,ctrl+z", "undo", "Undo a deletion", id="chat.undo", show=False),
    Binding("ctrl+home", "scroll('home')", "Oldest message", id="chat.oldest", show=False),
    Binding("ctrl+end", "scroll('end')", "Newest message", id="chat.newest", show=False),
]
