"""The conversation: turns, the newest at the bottom."""
