"""A GGUF model run by llama.cpp or by a fork that has its C interface, whichever is loaded.

Its library reads the environment variables below when it is loaded: `models.llama` and `models.ik`
import this first.
"""

import os

os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # or an abort starts a debugger
# OpenMP's threads wait for each other by spinning, 300,000 times before they yield: next to two
# busy programs a token then took up to six times as long. This many cost nothing on an idle
# machine.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
