"""The package that talks to servers takes a second to load, which no test should wait for."""

from importlib import import_module

import pytest


@pytest.fixture(scope="package", autouse=True)
def loaded() -> None:
    import_module("assistant.tools.session")
