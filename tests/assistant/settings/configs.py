"""A config.toml as it is understood."""

from pathlib import Path

from assistant.settings.config_file import Config, parse_config

HERE = Path("config.toml")


def config_of(text: str) -> Config:
    return parse_config(text, HERE)
