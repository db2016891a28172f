"""The engine: load, answer, several answers at once, race; one job in flight."""
