"""The fields of the settings."""
