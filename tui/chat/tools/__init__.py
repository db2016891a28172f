"""Tools in the chat: calls are shown, allowed, run, and what they return is kept."""
