"""Smaller and faster drafts, made from a local model file."""
