"""Models: found, chosen, fetched, listed."""
