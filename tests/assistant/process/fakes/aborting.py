"""A worker that aborts as llama.cpp does."""

import os
import resource
import sys

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.read(0, 1)
sys.stderr.write("load: noise\n" * 2000)
sys.stderr.write(
    "/build/llama.cpp/src/llama-vocab.cpp:2544: "
    "GGML_ASSERT(id_to_token.size() == token_to_id.size()) failed\n"
)
sys.stderr.flush()
os.abort()
