"""The engine: load, answer, race; one job in flight."""
