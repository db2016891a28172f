"""Measuring how fast exact decoding is, with a user's own models."""
