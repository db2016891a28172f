"""Measuring how fast exact decoding is, with a person's own models."""
