"""Smaller and faster drafts, made from a model file that is here."""
