"""The package `mcp` is imported once, as this takes a second."""

from importlib import import_module

import pytest


@pytest.fixture(scope="package", autouse=True)
def loaded() -> None:
    import_module("assistant.tools.session")
