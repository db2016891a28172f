"""A chat in progress, apart from how it looks."""
