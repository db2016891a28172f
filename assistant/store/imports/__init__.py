"""Conversations from files that other programs, or specchat itself, exported."""
