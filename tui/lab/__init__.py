"""The laboratories' commands, with their reports."""
