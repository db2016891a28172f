"""What can be set: every key in one table, what `config.toml` says, and what counts."""
