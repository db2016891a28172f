"""`config.toml`: every key in one table, where values come from, and how changes are written."""
