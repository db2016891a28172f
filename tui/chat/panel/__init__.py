"""The figures of speculation."""
