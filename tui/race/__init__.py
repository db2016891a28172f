"""A race, apart from how it looks."""
