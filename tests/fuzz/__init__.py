"""Fuzzing of the readers of foreign input."""
