"""The engine that the tests run models with: llama.cpp, or what SPECCHAT_TEST_ENGINE names."""

import os
from typing import cast

import pytest

from models import engines
from models.engines import EngineName

ENGINE = cast(EngineName, os.environ.get("SPECCHAT_TEST_ENGINE", "llama"))
llama_alone = pytest.mark.skipif(ENGINE != "llama", reason="the other engine does not do this")
needs_both = pytest.mark.skipif(
    engines.installed() != ["llama", "ik"], reason="one engine alone is installed"
)
