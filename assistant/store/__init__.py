"""Conversations on disk: a tree of messages each, how the answers were decoded, and a search."""
