"""A config.toml as it is understood."""

from pathlib import Path

from assistant.settings.config_file import Config, understand

HERE = Path("config.toml")


def config_of(text: str) -> Config:
    return understand(text, HERE)
