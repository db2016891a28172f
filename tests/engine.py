"""The engine that the tests run models with: llama.cpp, or what SPECCHAT_TEST_ENGINE names."""

import os
from typing import cast

from models.engines import EngineName

ENGINE = cast(EngineName, os.environ.get("SPECCHAT_TEST_ENGINE", "llama"))
