"""Conversations to tokens, and tokens back to text."""
