"""The settings of a config.toml, and its faults."""

from pathlib import Path

from assistant.settings.config_file import Config, parse_config

HERE = Path("config.toml")


def config_of(text: str) -> Config:
    return parse_config(text, HERE)
